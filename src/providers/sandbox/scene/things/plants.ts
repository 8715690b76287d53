import { circle, ellipse, path, polygon, rect, stroke } from '../svg.ts'
import { darker, lighter, type Drawing, type Pen } from './pen.ts'

const tree: Drawing = (pen) => crowned(pen, pen.chance.pick(['#5a9a4e', '#6ba554', '#4a8a52']))

const cherry: Drawing = (pen) => crowned(pen, '#f2a9c0')

function crowned(pen: Pen, own: string): string {
  const leaf = pen.main(own)
  const trunk = pen.tone('#6e4b37')
  const [dark, light] = [darker(leaf, 0.2), lighter(leaf, 0.18)]
  const wide = pen.chance.between(0.9, 1.08)
  return [
    path('M-5 0Q-3 -22 -4 -42L4 -42Q3 -20 6 0Z', trunk),
    stroke('M0 -30L-12 -46M1 -34L12 -50', trunk, 3),
    circle(-17 * wide, -46, 17, dark),
    circle(17 * wide, -48, 18, dark),
    circle(0, -44, 17, dark),
    circle(-14 * wide, -62, 18, leaf),
    circle(15 * wide, -64, 17, leaf),
    circle(0, -76, 21, leaf),
    circle(-7, -81, 12, light),
    circle(-19 * wide, -63, 8, light),
  ].join('')
}

const pine: Drawing = (pen) => {
  const leaf = pen.main(pen.chance.pick(['#2f6b52', '#386f4c', '#2b6459']))
  const tier = (top: number, bottom: number, half: number) =>
    polygon([-half, bottom, 0, top, half, bottom], leaf) +
    polygon([0, top, half, bottom, half * 0.12, bottom - 3], darker(leaf, 0.22))
  return [
    rect(-3.5, -16, [7, 16], pen.tone('#5f4233')),
    tier(-60, -10, 27),
    tier(-80, -34, 22),
    tier(-100, -58, 16),
  ].join('')
}

const palm: Drawing = (pen) => {
  const leaf = pen.main('#3f9a5a')
  const frond = (angle: number, length: number, colour: string) =>
    `<g transform="rotate(${angle})">${path(`M0 0Q${length * 0.5} -16 ${length} 4Q${length * 0.5} -4 0 5Z`, colour)}</g>`
  const fronds = [-168, -20, 18, 160, -60, -125, 205].map((angle, index) =>
    frond(angle, index > 3 ? 32 : 40, index % 2 === 0 ? leaf : darker(leaf, 0.16)),
  )
  return [
    path('M-5 0Q2 -40 8 -72L13 -72Q9 -36 5 0Z', pen.tone('#9a7250')),
    stroke('M-2 -14h7M1 -28h6M4 -42h6M7 -56h6', pen.tone('#7a573b'), 1.4),
    `<g transform="translate(10 -72)">${fronds.join('')}</g>`,
    circle(7, -69, 3.4, pen.tone('#6d4a30')),
    circle(13, -68, 3.4, pen.tone('#7c5738')),
  ].join('')
}

const flower: Drawing = (pen) => {
  const own = pen.chance.pick(['#e5546b', '#f0a03c', '#c86fc9', '#f3d34e', '#f7f3ea', '#e9799c'])
  const petal = pen.main(own)
  const stem = pen.tone('#4f8a45')
  const count = pen.chance.whole(6, 8)
  const petals = Array.from({ length: count }, (_, index) =>
    ellipse(0, -88, [7.6, 13], index % 2 === 0 ? petal : lighter(petal, 0.14), { turn: 0 }).replace(
      '/>',
      ` transform="rotate(${Math.round((360 / count) * index)} 0 -76)"/>`,
    ),
  )
  const lean = Math.round(pen.chance.between(-9, 9))
  return [
    stroke(`M${lean} 0Q${-lean} -40 0 -74`, stem, 3),
    path(`M${lean * 0.3} -24Q-22 -28 -25 -46Q-7 -44 ${lean * 0.2} -26Z`, stem),
    path(`M${lean * 0.1} -38Q20 -40 23 -56Q7 -55 0 -40Z`, darker(stem, 0.12)),
    ...petals,
    circle(0, -76, 7.4, pen.tone('#f2c14a')),
    circle(-1.6, -77.6, 4.4, pen.tone('#fadf86')),
  ].join('')
}

const cactus: Drawing = (pen) => {
  const skin = pen.main('#4e9560')
  const dark = darker(skin, 0.2)
  return [
    stroke('M0 -4V-86', skin, 20),
    stroke('M0 -34H-22Q-27 -34 -27 -40V-58', skin, 12),
    stroke('M0 -26H20Q26 -26 26 -32V-54', skin, 12),
    stroke('M4 -6V-84M-3 -6V-88', dark, 1.4),
    stroke('M-27 -42V-58M26 -36V-52', dark, 1.2),
    circle(0, -97, 4.4, pen.tone('#ee8fb2')),
    circle(4, -94, 3.4, pen.tone('#f6b3cb')),
  ].join('')
}

const mushroom: Drawing = (pen) => {
  const cap = pen.main('#d5453c')
  return [
    path('M-12 0Q-7 -28 -10 -48H10Q7 -26 13 0Q0 5 -12 0Z', pen.tone('#f3e9d6')),
    path('M3 2Q5 -26 4 -48H10Q7 -26 13 0Z', pen.tone('#ddcdb4')),
    path('M-44 -44Q-42 -92 0 -94Q42 -92 44 -44Q0 -30 -44 -44Z', cap),
    path('M-44 -44Q0 -30 44 -44Q0 -38 -44 -44Z', darker(cap, 0.35)),
    ...[
      [-22, -62, 6.5],
      [6, -78, 7],
      [25, -60, 5],
      [-4, -56, 4.4],
      [-15, -82, 4],
    ].map(([x = 0, y = 0, radius = 0]) => circle(x, y, radius, pen.tone('#fff7ea'))),
  ].join('')
}

const bush: Drawing = (pen) => {
  const leaf = pen.main('#5c9a55')
  return [
    circle(-24, -22, 22, darker(leaf, 0.16)),
    circle(24, -20, 20, darker(leaf, 0.16)),
    circle(0, -30, 26, leaf),
    circle(-9, -38, 13, lighter(leaf, 0.14)),
    rect(-44, -12, [86, 12], darker(leaf, 0.16), { corner: 6 }),
  ].join('')
}

/** What grows. */
export const plants = { tree, cherry, pine, palm, flower, cactus, mushroom, bush }
