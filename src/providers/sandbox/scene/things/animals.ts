import { circle, ellipse, path, polygon, rect, stroke } from '../svg.ts'
import { darker, lighter, type Drawing, type Pen } from './pen.ts'

const ink = '#26222e'

function eye(pen: Pen, x: number, y: number, radius = 2.4): string {
  return (
    circle(x, y, radius, pen.tone(ink)) +
    circle(x - radius * 0.3, y - radius * 0.35, radius * 0.35, '#ffffff')
  )
}

const cat: Drawing = (pen) => {
  const fur = pen.main(pen.chance.pick(['#e29a4e', '#8c8794', '#5b5560', '#d9b48a']))
  const [dark, pale] = [darker(fur, 0.22), lighter(fur, 0.55)]
  return [
    stroke('M20 -8Q46 -4 42 -30Q40 -42 32 -40', dark, 8),
    path('M-24 0Q-30 -48 0 -54Q30 -48 25 0Z', fur),
    ellipse(0, -18, [12, 17], pale),
    rect(-14, -22, [9, 22], fur, { corner: 4.5 }),
    rect(5, -22, [9, 22], fur, { corner: 4.5 }),
    ellipse(-9.5, -2.5, [6.5, 3.4], lighter(fur, 0.2)),
    ellipse(9.5, -2.5, [6.5, 3.4], lighter(fur, 0.2)),
    polygon([-23, -68, -22, -97, -4, -82], fur),
    polygon([23, -68, 22, -97, 4, -82], fur),
    polygon([-19, -75, -18.5, -90, -9, -81], pen.tone('#eaa6a0')),
    polygon([19, -75, 18.5, -90, 9, -81], pen.tone('#eaa6a0')),
    ellipse(0, -66, [25, 21], fur),
    ellipse(0, -58, [12, 9], pale),
    stroke('M-4 -86v8M0 -87v10M4 -86v8', dark, 2),
    circle(-10, -68, 4.6, pen.tone('#cfe08a')),
    circle(10, -68, 4.6, pen.tone('#cfe08a')),
    ellipse(-10, -68, [1.8, 4], pen.tone(ink)),
    ellipse(10, -68, [1.8, 4], pen.tone(ink)),
    polygon([-3, -62, 3, -62, 0, -58.6], pen.tone('#d9777a')),
    stroke('M0 -58.6Q-1 -54 -6 -55M0 -58.6Q1 -54 6 -55', pen.tone(ink), 1.1),
    stroke('M-13 -59l-17 -3M-13 -57l-17 2M13 -59l17 -3M13 -57l17 2', pen.tone('#f7f2ea'), 0.8),
  ].join('')
}

const dog: Drawing = (pen) => {
  const fur = pen.main(pen.chance.pick(['#b97c48', '#e0c194', '#7d5b47', '#c9c2ba']))
  const [dark, pale] = [darker(fur, 0.25), lighter(fur, 0.5)]
  return [
    stroke('M-36 -44Q-50 -54 -46 -70', fur, 7),
    rect(-33, -34, [10, 34], dark, { corner: 4 }),
    rect(12, -34, [10, 34], dark, { corner: 4 }),
    path(
      'M-40 -40Q-40 -58 -20 -58L14 -60Q30 -58 28 -38Q26 -24 8 -24L-26 -24Q-40 -24 -40 -40Z',
      fur,
    ),
    rect(-25, -34, [11, 34], fur, { corner: 4 }),
    rect(16, -38, [11, 38], fur, { corner: 4 }),
    ellipse(-19, -2.5, [8, 3.4], lighter(fur, 0.15)),
    ellipse(23, -2.5, [8, 3.4], lighter(fur, 0.15)),
    path('M8 -54Q12 -84 26 -86Q42 -86 42 -72L54 -66Q58 -54 46 -52Q38 -46 30 -48Z', fur),
    ellipse(48, -59, [9, 6.4], pale),
    ellipse(54.5, -63.5, [4, 3.2], pen.tone(ink)),
    path('M22 -86Q8 -86 10 -62Q14 -54 22 -60Q26 -72 26 -84Z', dark),
    eye(pen, 37, -71),
    path('M10 -56Q20 -46 33 -48L32 -43Q18 -42 8 -50Z', pen.tone('#d5453c')),
    circle(22, -44, 3, pen.tone('#f0cf6a')),
  ].join('')
}

const fox: Drawing = (pen) => {
  const fur = pen.main('#dd6f34')
  const white = pen.tone('#fbf3e6')
  const sock = pen.tone('#3a2b2f')
  return [
    path('M18 -6Q56 -2 56 -34Q55 -58 42 -66Q44 -40 30 -30Q22 -22 14 -14Z', fur),
    path('M42 -66Q53 -60 55.6 -44Q49 -42 43.4 -48Q44.4 -57 42 -66Z', white),
    path('M-22 0Q-30 -46 -2 -54Q26 -48 24 0Z', fur),
    path('M-10 -50Q-18 -26 -4 -14Q10 -26 4 -50Z', white),
    path('M-15 -30H-4V0H-15ZM-2 -30H9V0H-2Z', darker(fur, 0.12)),
    path('M-15 -13H-4V-2Q-4 0 -6 0H-15Q-17 0 -17 -3ZM-2 -13H9V-3Q10 0 8 0H-2Z', sock),
    polygon([-27, -72, -28, -100, -9, -84], fur),
    polygon([21, -72, 22, -100, 3, -84], fur),
    polygon([-25, -80, -25.4, -94, -16, -86], sock),
    polygon([19, -80, 19.4, -94, 10, -86], sock),
    path('M-30 -70Q-20 -88 -3 -88Q14 -88 24 -70Q14 -54 -3 -44Q-20 -54 -30 -70Z', fur),
    path('M-30 -70Q-20 -68 -12 -60L-3 -44Q-20 -52 -30 -70Z', white),
    path('M24 -70Q14 -68 6 -60L-3 -44Q14 -52 24 -70Z', white),
    ellipse(-3, -46, [4, 3.2], pen.tone(ink)),
    eye(pen, -13, -68, 2.8),
    eye(pen, 7, -68, 2.8),
  ].join('')
}

function hoofed(pen: Pen, coat: string, mane: string): string {
  const dark = darker(coat, 0.2)
  return [
    path('M-36 -50Q-54 -44 -48 -10Q-42 -22 -38 -26Z', mane),
    polygon([-30, -36, -33, 0, -26, 0, -20, -36], dark),
    polygon([14, -36, 15, 0, 22, 0, 26, -38], dark),
    path(
      'M-38 -46Q-36 -60 -18 -58Q0 -54 14 -60Q30 -58 28 -42Q24 -28 4 -29Q-14 -28 -24 -30Q-38 -32 -38 -46Z',
      coat,
    ),
    polygon([-38, -42, -38, -18, -42, 0, -34, 0, -29, -20, -22, -34], coat),
    polygon([18, -40, 25, -20, 24, 0, 31, 0, 33, -22, 28, -44], coat),
    path('M10 -52Q20 -82 34 -92Q42 -92 43 -84L56 -72Q58 -63 50 -62L40 -68Q34 -56 28 -44Z', coat),
    polygon([34, -90, 36, -100, 41, -90], coat),
    path('M36 -95Q22 -88 14 -66Q8 -56 2 -55Q14 -48 20 -56Q28 -72 38 -86Z', mane),
    eye(pen, 42, -80, 1.9),
    ellipse(53, -66, [5, 4.4], darker(coat, 0.12), { turn: 30 }),
    circle(54.5, -67.6, 1, pen.tone(ink)),
    rect(-42, -4, [8.5, 4], pen.tone(ink)),
    rect(23.6, -4, [8, 4], pen.tone(ink)),
  ].join('')
}

const horse: Drawing = (pen) => {
  const coat = pen.main(pen.chance.pick(['#9a633f', '#6d4a3a', '#d8c6ae', '#4d4148']))
  return hoofed(pen, coat, darker(coat, 0.5))
}

const deer: Drawing = (pen) => {
  const coat = pen.main('#b27d4e')
  const antler = pen.tone('#7a5a40')
  return [
    stroke(
      'M35 -90Q20 -96 20 -110M27 -96Q28 -104 34 -106M39 -90Q46 -100 56 -100M46 -97Q46 -106 52 -110',
      antler,
      2.6,
    ),
    hoofed(pen, coat, darker(coat, 0.1)),
    circle(-43, -44, 5, pen.tone('#f6ecdc')),
    ...[
      [-22, -50],
      [-10, -52],
      [2, -50],
      [-16, -42],
      [-2, -42],
      [12, -44],
    ].map(([x = 0, y = 0]) => circle(x, y, 1.8, lighter(coat, 0.5))),
  ].join('')
}

const rabbit: Drawing = (pen) => {
  const fur = pen.main(pen.chance.pick(['#cbb59c', '#f3eee6', '#9c8a7c']))
  const pink = pen.tone('#e9a9a6')
  return [
    circle(26, -14, 9, lighter(fur, 0.6)),
    ellipse(0, -24, [27, 24], fur),
    ellipse(0, -18, [14, 16], lighter(fur, 0.5)),
    ellipse(-10, -84, [7, 20], fur, { turn: -9 }),
    ellipse(11, -84, [7, 20], fur, { turn: 11 }),
    ellipse(-10, -83, [3.4, 14], pink, { turn: -9 }),
    ellipse(11, -83, [3.4, 14], pink, { turn: 11 }),
    ellipse(0, -54, [20, 18], fur),
    eye(pen, -8, -57, 2.8),
    eye(pen, 8, -57, 2.8),
    ellipse(0, -49, [3, 2.2], pink),
    stroke('M0 -47v4M0 -43q-4 3 -7 0M0 -43q4 3 7 0', pen.tone(ink), 1),
    ellipse(-13, -4, [12, 5.4], lighter(fur, 0.2)),
    ellipse(13, -4, [12, 5.4], lighter(fur, 0.2)),
  ].join('')
}

const bear: Drawing = (pen) => {
  const fur = pen.main('#8a5f42')
  const pale = lighter(fur, 0.4)
  return [
    ellipse(0, -30, [34, 32], fur),
    ellipse(0, -26, [20, 21], pale),
    circle(-21, -89, 9.5, fur),
    circle(21, -89, 9.5, fur),
    circle(-21, -89, 5, pale),
    circle(21, -89, 5, pale),
    ellipse(0, -72, [28, 24], fur),
    ellipse(0, -64, [13, 10], pale),
    ellipse(0, -69, [5, 3.6], pen.tone(ink)),
    stroke('M0 -66v4M0 -61q-5 4 -8 0M0 -61q5 4 8 0', pen.tone(ink), 1.2),
    eye(pen, -11, -77, 2.8),
    eye(pen, 11, -77, 2.8),
    ellipse(-32, -36, [9, 18], darker(fur, 0.14), { turn: 20 }),
    ellipse(32, -36, [9, 18], darker(fur, 0.14), { turn: -20 }),
    ellipse(-18, -6, [13, 8], darker(fur, 0.1)),
    ellipse(18, -6, [13, 8], darker(fur, 0.1)),
    circle(-18, -5, 4, pale),
    circle(18, -5, 4, pale),
  ].join('')
}

const elephant: Drawing = (pen) => {
  const skin = pen.main('#9aa0ac')
  const dark = darker(skin, 0.18)
  return [
    stroke('M-42 -52Q-50 -44 -48 -30', dark, 2.6),
    rect(-34, -30, [14, 30], dark, { corner: 4 }),
    rect(4, -30, [14, 30], dark, { corner: 4 }),
    ellipse(-12, -50, [33, 29], skin),
    rect(-24, -32, [15, 32], skin, { corner: 4 }),
    rect(12, -34, [15, 34], skin, { corner: 4 }),
    stroke('M44 -62Q52 -36 46 -14Q44 -6 52 -6', skin, 9),
    circle(28, -66, 22, skin),
    ellipse(14, -64, [15, 20], dark, { turn: -8 }),
    ellipse(13, -63, [10, 14], lighter(skin, 0.1), { turn: -8 }),
    path('M36 -50Q44 -38 52 -42Q46 -46 44 -54Z', pen.tone('#fbf6ea')),
    eye(pen, 35, -69, 2.4),
  ].join('')
}

const bulky = (pen: Pen, hide: string, belly: string): string =>
  [
    rect(-28, -26, [8, 26], darker(belly, 0.3)),
    rect(12, -26, [8, 26], darker(belly, 0.3)),
    rect(-19, -26, [8.5, 26], belly),
    rect(20, -26, [8.5, 26], belly),
    ...[-28, -19, 12, 20].map((x) => rect(x, -4, [8.5, 4], pen.tone(ink))),
    path('M-38 -44Q-38 -60 -22 -60H22Q36 -58 34 -42Q32 -22 16 -22H-24Q-38 -24 -38 -44Z', hide),
  ].join('')

const sheep: Drawing = (pen) => {
  const wool = pen.main('#f5efe4')
  const face = pen.tone('#4a4148')
  const curls = [
    [-28, -46],
    [-18, -58],
    [-2, -62],
    [14, -58],
    [24, -46],
    [-26, -34],
    [20, -32],
    [-6, -30],
  ]
  return [
    ...[-24, -12, 8, 19].map((x) => rect(x, -24, [6, 24], face)),
    ellipse(-2, -44, [32, 22], wool),
    ...curls.map(([x = 0, y = 0], index) =>
      circle(x, y, 11, index > 4 ? darker(wool, 0.08) : wool),
    ),
    ellipse(36, -56, [10, 14], face, { turn: -18 }),
    ellipse(25, -64, [8, 4], face, { turn: 24 }),
    circle(31, -67, 8, wool),
    circle(38, -59, 1.9, '#ffffff'),
    circle(38.4, -59, 1, pen.tone(ink)),
  ].join('')
}

const cow: Drawing = (pen) => {
  const hide = pen.main('#f6f1e8')
  const spot = pen.tone(pen.isColoured ? '#f6f1e8' : '#4a3b3a')
  return [
    stroke('M-37 -50Q-48 -40 -44 -18', hide, 3),
    bulky(pen, hide, hide),
    ellipse(-18, -48, [11, 9], spot),
    ellipse(10, -38, [10, 8], spot, { turn: 20 }),
    ellipse(-2, -21, [7, 5], pen.tone('#eaa6a0')),
    path('M26 -56Q30 -78 42 -78Q56 -78 54 -62Q52 -48 42 -48Q32 -48 26 -56Z', hide),
    ellipse(47, -53, [10, 7.4], pen.tone('#eaa6a0')),
    stroke('M35 -78q-4 -6 0 -10M48 -78q4 -6 0 -10', pen.tone('#d8c9a8'), 3),
    ellipse(28, -72, [7, 4], spot, { turn: 20 }),
    eye(pen, 43, -67, 2.2),
    circle(44, -53, 1.2, pen.tone(ink)),
    circle(50, -53, 1.2, pen.tone(ink)),
  ].join('')
}

/** What walks on four legs. */
export const animals = { cat, dog, fox, horse, deer, rabbit, bear, elephant, sheep, cow }
