import { circle, ellipse, path, polygon, rect, stroke } from '../svg.ts'
import { darker, lighter, type Drawing } from './pen.ts'

const apple: Drawing = (pen) => {
  const skin = pen.main('#d8413a')
  return [
    ellipse(0, 0, [32, 5], '#10121f', { opacity: 0.2 }),
    path('M0 -72Q-44 -84 -44 -42Q-40 0 -14 2Q0 -3 14 2Q40 0 44 -42Q44 -84 0 -72Z', skin),
    path(
      'M16 -76Q44 -78 44 -42Q40 0 14 2Q8 -1 4 -1Q34 -14 32 -48Q30 -68 16 -76Z',
      darker(skin, 0.2),
    ),
    ellipse(-24, -50, [6, 12], lighter(skin, 0.55), { turn: 18, opacity: 0.75 }),
    stroke('M0 -70Q0 -84 7 -92', pen.tone('#6a4630'), 4),
    path('M5 -82Q18 -102 36 -92Q28 -74 5 -82Z', pen.tone('#5f9f4a')),
  ].join('')
}

const orange: Drawing = (pen) => {
  const skin = pen.main('#f0953a')
  return [
    ellipse(0, 0, [32, 5], '#10121f', { opacity: 0.2 }),
    circle(0, -38, 38, skin),
    path('M14 -73A38 38 0 0 1 0 0Q-4 0 -10 -1A40 40 0 0 0 14 -73Z', darker(skin, 0.16)),
    ellipse(-15, -54, [6, 10], lighter(skin, 0.6), { turn: 30, opacity: 0.75 }),
    circle(0, -74, 3, pen.tone('#5a4a2c')),
    path('M2 -75Q14 -92 30 -82Q20 -68 2 -75Z', pen.tone('#5f9f4a')),
  ].join('')
}

const pear: Drawing = (pen) => {
  const skin = pen.main('#b8c04a')
  return [
    ellipse(0, 0, [30, 5], '#10121f', { opacity: 0.2 }),
    path(
      'M0 -82Q-15 -82 -16 -60Q-38 -44 -36 -22Q-30 2 0 2Q30 2 36 -22Q38 -44 16 -60Q15 -82 0 -82Z',
      skin,
    ),
    path(
      'M4 -82Q15 -80 16 -60Q38 -44 36 -22Q30 2 0 2Q24 -8 24 -26Q22 -44 8 -56Q8 -72 4 -82Z',
      darker(skin, 0.16),
    ),
    ellipse(-20, -30, [5, 12], lighter(skin, 0.6), { turn: 20, opacity: 0.7 }),
    stroke('M0 -80Q0 -92 6 -98', pen.tone('#6a4630'), 3.6),
  ].join('')
}

const banana: Drawing = (pen) => {
  const skin = pen.main('#f2cf4a')
  return [
    ellipse(0, 0, [34, 4], '#10121f', { opacity: 0.2 }),
    path('M-44 -56Q-30 4 30 0Q44 -6 48 -22Q16 -14 -6 -36Q-22 -50 -32 -66Z', skin),
    path('M-44 -56Q-30 4 30 0Q44 -6 48 -22Q40 -8 22 -8Q-24 -10 -44 -56Z', darker(skin, 0.16)),
    polygon([-45, -55, -39, -70, -31, -66, -33, -56], pen.tone('#7a5a34')),
  ].join('')
}

const cake: Drawing = (pen) => {
  const icing = pen.main('#f4b6c6')
  const sponge = pen.tone('#e3b67c')
  return [
    ellipse(0, -2, [50, 8], pen.tone('#e9eef0')),
    path('M-36 -46V-6Q0 8 36 -6V-46Z', sponge),
    path('M-36 -28Q0 -16 36 -28V-22Q0 -10 -36 -22Z', pen.tone('#fbf3e2')),
    path(
      'M-36 -52V-40Q-30 -28 -24 -38Q-18 -24 -12 -36Q-4 -22 4 -36Q10 -24 18 -38Q26 -28 36 -40V-52Z',
      icing,
    ),
    ellipse(0, -52, [36, 11], lighter(icing, 0.3)),
    ...[-16, 0, 16].map(
      (x) =>
        rect(x - 1.8, -76, [3.6, 22], pen.tone('#7fb8d8')) + ellipse(x, -81, [2.6, 5], '#ffc24a'),
    ),
  ].join('')
}

const cup: Drawing = (pen) => {
  const glaze = pen.main('#f6f1e6')
  return [
    stroke(
      'M-8 -72Q-14 -82 -8 -90T-8 -104M10 -72Q4 -82 10 -90T10 -104',
      pen.tone('#fbfaf6'),
      2.6,
      0.6,
    ),
    ellipse(0, -3, [46, 8], darker(glaze, 0.14)),
    ellipse(0, -5, [44, 6.4], glaze),
    stroke('M30 -48Q54 -50 48 -30Q42 -18 24 -18', darker(glaze, 0.1), 6),
    path('M-34 -58H34Q34 -20 16 -8H-16Q-34 -20 -34 -58Z', glaze),
    path('M14 -58H34Q34 -20 16 -8H4Q16 -24 14 -58Z', darker(glaze, 0.12)),
    ellipse(0, -58, [34, 8], lighter(glaze, 0.4)),
    ellipse(0, -57, [29, 6], pen.tone('#6d452c')),
  ].join('')
}

const book: Drawing = (pen) => {
  const cover = pen.main('#3f6fa8')
  return [
    polygon([-44, -8, 0, 0, 44, -8, 44, -54, 0, -46, -44, -54], cover),
    path('M-40 -12Q-18 -16 0 -5V-48Q-18 -60 -40 -55Z', pen.tone('#fbf6ea')),
    path('M40 -12Q18 -16 0 -5V-48Q18 -60 40 -55Z', pen.tone('#eee4d0')),
    stroke(
      'M-33 -47q14 -3 26 4M-33 -39q14 -3 26 4M-33 -31q14 -3 26 4M-33 -23q14 -3 26 4',
      pen.tone('#b9ad98'),
      1.6,
    ),
    stroke(
      'M33 -47q-14 -3 -26 4M33 -39q-14 -3 -26 4M33 -31q-14 -3 -26 4M33 -23q-14 -3 -26 4',
      pen.tone('#b9ad98'),
      1.6,
    ),
  ].join('')
}

const vase: Drawing = (pen) => {
  const glaze = pen.main('#4f8fa8')
  const bloom = (x: number, y: number, colour: string) =>
    stroke(`M0 -42Q${x * 0.3} -60 ${x} ${y}`, pen.tone('#4f8a45'), 2.4) +
    [0, 72, 144, 216, 288]
      .map(
        (turn) =>
          `<g transform="rotate(${turn} ${x} ${y})">${circle(x, y - 6, 5.6, pen.tone(colour))}</g>`,
      )
      .join('') +
    circle(x, y, 4, pen.tone('#f2c14a'))
  return [
    ellipse(0, 0, [24, 4], '#10121f', { opacity: 0.2 }),
    bloom(-24, -78, '#e5546b'),
    bloom(24, -76, '#c86fc9'),
    bloom(2, -90, '#f7f3ea'),
    path('M-10 -44H10Q8 -36 18 -28Q28 -12 14 0H-14Q-28 -12 -18 -28Q-8 -36 -10 -44Z', glaze),
    path('M3 -44H10Q8 -36 18 -28Q28 -12 14 0H4Q18 -12 10 -28Q2 -36 3 -44Z', darker(glaze, 0.18)),
  ].join('')
}

const candle: Drawing = (pen) =>
  [
    circle(0, -82, 34, '#ffdf8a', 0.18),
    circle(0, -82, 20, '#ffdf8a', 0.28),
    ellipse(0, -2, [28, 6], pen.tone('#b98a4a')),
    rect(-11, -60, [22, 58], pen.main('#f6ecd8'), { corner: 3 }),
    rect(3, -60, [8, 58], darker(pen.main('#f6ecd8'), 0.12), { corner: 3 }),
    stroke('M0 -60v-8', pen.tone('#3a2c2c'), 1.8),
    path('M0 -98Q11 -80 0 -68Q-11 -80 0 -98Z', '#ffb347'),
    path('M0 -86Q5 -77 0 -70Q-5 -77 0 -86Z', '#fff3b8'),
  ].join('')

const bottle: Drawing = (pen) => {
  const glass = pen.main('#3f7a56')
  return [
    ellipse(0, 0, [20, 4], '#10121f', { opacity: 0.2 }),
    path('M-7 -94H7V-70Q18 -62 18 -50V-3Q18 0 14 0H-14Q-18 0 -18 -3V-50Q-18 -62 -7 -70Z', glass),
    path(
      'M3 -94H7V-70Q18 -62 18 -50V-3Q18 0 14 0H6Q10 -4 10 -50Q10 -62 3 -70Z',
      darker(glass, 0.2),
    ),
    rect(-18, -42, [36, 24], pen.tone('#f6ecd8')),
    stroke('M-11 -34h22M-8 -27h16', pen.tone('#a8564a'), 2),
    rect(-8, -99, [16, 9], pen.tone('#a8564a'), { corner: 2 }),
  ].join('')
}

const heart: Drawing = (pen) => {
  const red = pen.main('#e0475a')
  return [
    path(
      'M0 -4Q-50 -42 -46 -70Q-40 -96 -16 -92Q-4 -88 0 -74Q4 -88 16 -92Q40 -96 46 -70Q50 -42 0 -4Z',
      red,
    ),
    ellipse(-25, -72, [7, 11], lighter(red, 0.55), { turn: 30, opacity: 0.7 }),
  ].join('')
}

const umbrella: Drawing = (pen) => {
  const cloth = pen.main('#d8503f')
  return [
    stroke('M0 -56V-8Q0 0 8 0Q15 0 15 -8', pen.tone('#5a4434'), 3),
    path(
      'M-48 -52Q-40 -94 0 -96Q40 -94 48 -52Q36 -62 24 -52Q12 -62 0 -52Q-12 -62 -24 -52Q-36 -62 -48 -52Z',
      cloth,
    ),
    path('M0 -96Q-18 -80 -24 -52Q-12 -62 0 -52Z', lighter(cloth, 0.3)),
    path('M0 -96Q40 -94 48 -52Q36 -62 24 -52Q20 -82 0 -96Z', darker(cloth, 0.16)),
    stroke('M0 -96v-5', pen.tone('#5a4434'), 2.4),
  ].join('')
}

/** What one holds, eats or puts on a table. */
export const objects = {
  apple,
  orange,
  pear,
  banana,
  cake,
  cup,
  book,
  vase,
  candle,
  bottle,
  heart,
  umbrella,
}
