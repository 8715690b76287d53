import { circle, ellipse, path, polygon, rect, stroke } from '../svg.ts'
import { darker, lighter, type Drawing, type Pen } from './pen.ts'

function pane(pen: Pen, x: number, y: number, [width, height]: readonly [number, number]): string {
  const frame = pen.tone('#fbf6ea')
  return (
    rect(x - 1.5, y - 1.5, [width + 3, height + 3], frame) +
    rect(x, y, [width, height], pen.window) +
    rect(x + width / 2 - 0.7, y, [1.4, height], frame) +
    rect(x, y + height / 2 - 0.7, [width, 1.4], frame)
  )
}

const house: Drawing = (pen) => {
  const wall = pen.main('#f1dfc0')
  const roof = pen.tone(pen.isColoured ? '#4d4453' : '#b5523f')
  return [
    rect(18, -90, [10, 26], pen.tone('#8d5a4a')),
    rect(16.5, -92, [13, 4], pen.tone('#6f463b')),
    polygon([-37, 0, -37, -50, 0, -84, 37, -50, 37, 0], wall),
    polygon([12, 0, 12, -73, 37, -50, 37, 0], darker(wall, 0.14)),
    polygon([-47, -45, 0, -90, 0, -81, -42, -40], roof),
    polygon([47, -45, 0, -90, 0, -81, 42, -40], darker(roof, 0.22)),
    circle(0, -62, 6, pen.tone('#fbf6ea')),
    circle(0, -62, 4.4, pen.window),
    rect(-8.5, -29, [17, 29], pen.tone('#6a4630'), { corner: 1 }),
    circle(5, -14, 1.3, pen.tone('#f0cf7a')),
    pane(pen, -30, -38, [14, 15]),
    pane(pen, 17, -38, [14, 15]),
    rect(-39, -3, [78, 3], darker(wall, 0.3)),
  ].join('')
}

function battlements(x: number, y: number, width: number, colour: string): string {
  const step = width / 5
  return [0, 2, 4].map((tooth) => rect(x + tooth * step, y - 5, [step, 6], colour)).join('')
}

const castle: Drawing = (pen) => {
  const wall = pen.main('#c9c1bd')
  const side = darker(wall, 0.16)
  const roof = pen.tone(pen.isColoured ? '#3d4a6b' : '#5b6fa3')
  const turret = (x: number, width: number, top: number) =>
    rect(x, top, [width, -top], side) +
    rect(x, top, [width * 0.55, -top], wall) +
    polygon([x - 3, top, x + width / 2, top - width * 1.25, x + width + 3, top], roof) +
    rect(x + width / 2 - 2, top + 8, [4, 9], pen.window, { corner: 2 })
  const flag = (x: number, y: number) =>
    stroke(`M${x} ${y}v-12`, pen.tone('#5a5058'), 1.2) +
    polygon([x, y - 12, x + 9, y - 9, x, y - 6], pen.tone('#d8503f'))
  return [
    flag(0, -86),
    turret(-13, 26, -62),
    rect(-38, -40, [76, 40], wall),
    battlements(-38, -40, 76, wall),
    rect(10, -40, [28, 40], side),
    turret(-49, 19, -54),
    turret(30, 19, -54),
    flag(-39.5, -77),
    flag(39.5, -77),
    path('M-10 0V-17A10 10 0 0 1 10 -17V0Z', darker(wall, 0.62)),
    rect(-27, -28, [5, 10], pen.window, { corner: 2.5 }),
    rect(22, -28, [5, 10], pen.window, { corner: 2.5 }),
  ].join('')
}

const lighthouse: Drawing = (pen) => {
  const white = pen.tone('#f7f1e6')
  const band = pen.main('#d5453c')
  const dark = pen.tone('#39404f')
  const edge = (y: number) => 9 + (-y / 80) * -3.4 + 4
  const stripe = (from: number, to: number) =>
    polygon([-edge(from), from, -edge(to), to, edge(to), to, edge(from), from], band)
  const beams = pen.isDark
    ? polygon([0, -87, 170, -128, 170, -92], '#fff3b8', 0.24) +
      polygon([0, -87, -170, -70, -170, -104], '#fff3b8', 0.2)
    : ''
  return [
    beams,
    ellipse(0, 2, [30, 8], pen.tone('#6d6a70')),
    ellipse(-9, -1, [16, 5], pen.tone('#858087')),
    polygon([-edge(0), 0, -edge(-78), -78, edge(-78), -78, edge(0), 0], white),
    stripe(-4, -20),
    stripe(-36, -51),
    stripe(-66, -78),
    polygon([3, 0, 3, -78, edge(-78), -78, edge(0), 0], '#1a1c33', 0.16),
    rect(-3, -30, [5, 8], pen.window, { corner: 2.5 }),
    rect(-3, -61, [5, 7], pen.window, { corner: 2.5 }),
    path('M-4 0V-9A4 4 0 0 1 4 -9V0Z', dark),
    rect(-13, -81, [26, 3.4], dark),
    stroke('M-12.5 -81v-4M-8 -81v-4M8 -81v-4M12.5 -81v-4M-12.5 -85h25', dark, 0.9),
    rect(-6.5, -92, [13, 11], '#ffe9a0'),
    circle(0, -87, 4, '#fffbe2'),
    stroke('M-6.5 -92v11M6.5 -92v11M-2.2 -92v11M2.2 -92v11', dark, 0.9),
    path('M-8.5 -92A8.5 8 0 0 1 8.5 -92Z', band),
    circle(0, -101, 1.6, dark),
  ].join('')
}

const tower: Drawing = (pen) => {
  const wall = pen.main('#b9aea6')
  return [
    polygon([-17, 0, -14, -80, 14, -80, 17, 0], wall),
    polygon([4, 0, 4, -80, 14, -80, 17, 0], darker(wall, 0.18)),
    rect(-18, -86, [36, 9], darker(wall, 0.08)),
    battlements(-18, -86, 36, darker(wall, 0.08)),
    rect(-4, -70, [7, 12], pen.window, { corner: 3.5 }),
    rect(-3, -44, [6, 10], pen.window, { corner: 3 }),
    path('M-6 0V-11A6 6 0 0 1 6 -11V0Z', darker(wall, 0.6)),
  ].join('')
}

const church: Drawing = (pen) => {
  const wall = pen.main('#f3ead9')
  const roof = pen.tone('#6b4f57')
  return [
    rect(-8, -34, [50, 34], darker(wall, 0.1)),
    polygon([-10, -33, -2, -54, 36, -54, 46, -33], roof),
    rect(-34, -58, [28, 58], wall),
    polygon([-37, -57, -20, -90, -3, -57], darker(roof, 0.2)),
    stroke('M-20 -99v11M-24 -95h8', pen.tone('#e0bb62'), 1.8),
    circle(-20, -47, 5, pen.window),
    path('M-26 0V-16A6 6 0 0 1 -14 -16V0Z', pen.tone('#5c3d2e')),
    ...[4, 18, 32].map((x) => path(`M${x - 3} -9V-20A3 3 0 0 1 ${x + 3} -20V-9Z`, pen.window)),
  ].join('')
}

const windmill: Drawing = (pen) => {
  const wall = pen.main('#efe3cd')
  const wood = pen.tone('#6d4b38')
  const turn = pen.chance.between(5, 80)
  const sail =
    stroke('M0 0V-38', wood, 1.8) + rect(1, -37, [8, 27], pen.tone('#fffaf0'), { opacity: 0.92 })
  const sails = [0, 90, 180, 270].map((angle) => `<g transform="rotate(${angle})">${sail}</g>`)
  return [
    polygon([-21, 0, -13, -58, 13, -58, 21, 0], wall),
    polygon([5, 0, 3, -58, 13, -58, 21, 0], darker(wall, 0.14)),
    path('M-15 -57Q0 -80 15 -57Z', pen.tone('#8d4f3f')),
    rect(-4, -42, [8, 9], pen.window),
    path('M-6 0V-13A6 6 0 0 1 6 -13V0Z', wood),
    `<g transform="translate(0 -60) rotate(${Math.round(turn)})">${sails.join('')}</g>`,
    circle(0, -60, 2.6, wood),
  ].join('')
}

const tent: Drawing = (pen) => {
  const cloth = pen.main('#e08a3c')
  return [
    polygon([-46, 0, 0, -62, 46, 0], cloth),
    polygon([0, -62, 46, 0, 20, 0], darker(cloth, 0.2)),
    polygon([-14, 0, 0, -62, 14, 0], pen.isDark ? '#ffd98a' : darker(cloth, 0.55)),
    polygon([-14, 0, 0, -62, -6, 0], lighter(cloth, 0.3)),
    stroke('M0 -62v-7', pen.tone('#5d4a3a'), 1.6),
  ].join('')
}

/** Houses and their like. */
export const buildings = { house, castle, lighthouse, tower, church, windmill, tent }
