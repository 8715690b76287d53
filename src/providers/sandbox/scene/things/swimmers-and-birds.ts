import { circle, ellipse, path, placed, polygon, stroke } from '../svg.ts'
import { darker, lighter, type Drawing } from './pen.ts'

const ink = '#26222e'

const bird: Drawing = (pen) => {
  const feather = pen.main(pen.chance.pick(['#4f8fd0', '#d8563f', '#e8b23c', '#5aa56a']))
  return [
    stroke('M-4 -22v22M8 -22v22M-8 0h8M4 0h8', pen.tone('#8a5b3a'), 2.6),
    polygon([-28, -44, -62, -32, -58, -46], darker(feather, 0.3)),
    path('M-36 -42Q-30 -72 4 -74Q30 -72 30 -50Q26 -20 0 -19Q-24 -20 -36 -42Z', feather),
    path('M6 -20Q30 -26 31 -52Q16 -50 6 -38Z', lighter(feather, 0.55)),
    circle(18, -76, 18, feather),
    polygon([34, -80, 50, -74, 34, -70], pen.tone('#f0a53c')),
    circle(23, -80, 4.4, '#ffffff'),
    circle(24.4, -80, 2.4, pen.tone(ink)),
    path('M-30 -46Q-8 -62 12 -50Q2 -28 -30 -40Z', darker(feather, 0.22)),
  ].join('')
}

const fish: Drawing = (pen) => {
  const scale = pen.main(pen.chance.pick(['#f08a3c', '#4fa3c8', '#e8635a', '#f2c14a']))
  const dark = darker(scale, 0.22)
  return [
    path('M-26 -50L-52 -76Q-46 -50 -54 -24Z', dark),
    path('M-10 -74Q8 -98 24 -72Z', dark),
    path('M0 -30Q10 -14 20 -30Z', dark),
    path('M-36 -50Q-8 -86 30 -76Q52 -66 54 -50Q50 -34 28 -26Q-8 -18 -36 -50Z', scale),
    path('M-30 -46Q0 -22 34 -28Q48 -34 52 -44Q20 -30 -30 -46Z', lighter(scale, 0.45)),
    stroke('M24 -72Q16 -50 24 -30', dark, 2),
    path('M4 -52Q-8 -44 -2 -34Q10 -38 12 -50Z', dark),
    stroke('M-4 -66q6 6 0 12M-16 -60q6 6 0 12', dark, 1.6, 0.6),
    circle(39, -57, 6, '#ffffff'),
    circle(40.5, -57, 3.2, pen.tone(ink)),
  ].join('')
}

const whale: Drawing = (pen) => {
  const skin = pen.main('#4c7296')
  return [
    stroke('M12 -72Q10 -92 -2 -94M12 -72Q14 -92 26 -94', pen.tone('#cfe8f2'), 3),
    path('M-34 -26Q-52 -34 -58 -58Q-44 -54 -40 -46Q-38 -60 -28 -64Q-30 -44 -24 -32Z', skin),
    path('M-36 -30Q-24 -8 10 -6Q50 -6 52 -34Q48 -66 12 -66Q-14 -64 -26 -44Z', skin),
    path('M-24 -16Q10 -2 48 -20Q44 -6 12 -4Q-12 -4 -24 -16Z', lighter(skin, 0.6)),
    stroke('M51 -30Q36 -22 24 -24', darker(skin, 0.4), 1.8),
    path('M0 -16Q-6 2 -20 4Q-20 -12 -10 -20Z', darker(skin, 0.18)),
    circle(34, -37, 2.6, pen.tone(ink)),
  ].join('')
}

const otter: Drawing = (pen) => {
  const fur = pen.main('#8a6048')
  const [dark, pale] = [darker(fur, 0.22), lighter(fur, 0.55)]
  return [
    path('M20 -26Q44 -30 50 -46Q54 -36 46 -24Q36 -10 18 -10Z', dark),
    ellipse(34, -36, [8, 5], dark, { turn: -40 }),
    ellipse(24, -40, [8, 5], dark, { turn: -60 }),
    ellipse(2, -22, [36, 19], fur),
    ellipse(2, -27, [26, 11], pale),
    circle(-45, -54, 4.6, dark),
    circle(-22, -60, 4.6, dark),
    circle(-32, -44, 19, fur),
    ellipse(-32, -39, [14, 11], pale),
    ellipse(-32, -43, [4.4, 3.2], pen.tone(ink)),
    circle(-39, -50, 2.4, pen.tone(ink)),
    circle(-25, -50, 2.4, pen.tone(ink)),
    stroke('M-32 -40v3M-32 -37q-4 3 -7 1M-32 -37q4 3 7 1', pen.tone(ink), 1.1),
    stroke('M-40 -40l-12 -2M-40 -37l-12 2M-24 -40l12 -2M-24 -37l12 2', pen.tone('#f6f0e6'), 0.8),
    ellipse(-8, -36, [7, 4.6], dark, { turn: -18 }),
    ellipse(4, -36, [7, 4.6], dark, { turn: 12 }),
    stroke('M-54 -8q10 -5 20 0t20 0t20 0t20 0t20 0', pen.tone('#dff2f6'), 2.6, 0.8),
  ].join('')
}

const duck: Drawing = (pen) => {
  const feather = pen.main('#f3d56a')
  return [
    path(
      'M-42 -40Q-44 -20 -22 -8Q12 2 30 -12Q40 -26 30 -42Q0 -30 -20 -36Q-34 -42 -42 -54Z',
      feather,
    ),
    path('M-22 -34Q0 -42 14 -28Q0 -12 -22 -22Z', darker(feather, 0.16)),
    circle(24, -62, 20, feather),
    path('M40 -66Q58 -66 57 -58Q50 -52 38 -55Z', pen.tone('#ee8a33')),
    circle(29, -67, 2.8, pen.tone(ink)),
  ].join('')
}

const penguin: Drawing = (pen) => {
  const coat = pen.main('#343a4c')
  return [
    ellipse(-11, -2, [10, 4.4], pen.tone('#ee9a3c')),
    ellipse(11, -2, [10, 4.4], pen.tone('#ee9a3c')),
    ellipse(-27, -38, [6.4, 22], darker(coat, 0.2), { turn: 14 }),
    ellipse(27, -38, [6.4, 22], darker(coat, 0.2), { turn: -14 }),
    ellipse(0, -40, [27, 38], coat),
    circle(0, -76, 20, coat),
    ellipse(0, -34, [18, 29], pen.tone('#fbf6ec')),
    ellipse(-7, -74, [8, 9], pen.tone('#fbf6ec')),
    ellipse(7, -74, [8, 9], pen.tone('#fbf6ec')),
    polygon([-5, -72, 5, -72, 0, -63], pen.tone('#ee9a3c')),
    circle(-7, -77, 2.3, pen.tone(ink)),
    circle(7, -77, 2.3, pen.tone(ink)),
  ].join('')
}

const butterfly: Drawing = (pen) => {
  const wing = pen.main(pen.chance.pick(['#ef8a33', '#5a8fe0', '#c86fc9']))
  const half = [
    path('M2 -54Q20 -96 46 -88Q54 -60 4 -48Z', wing),
    path('M2 -48Q44 -46 38 -22Q20 -8 2 -42Z', darker(wing, 0.18)),
    circle(34, -76, 5, lighter(wing, 0.6)),
    circle(26, -32, 4, lighter(wing, 0.6)),
  ].join('')
  return [
    half,
    `<g transform="scale(-1 1)">${half}</g>`,
    ellipse(0, -48, [3, 20], pen.tone(ink)),
    stroke('M-1 -66Q-6 -80 -12 -82M1 -66Q6 -80 12 -82', pen.tone(ink), 1.4),
  ].join('')
}

const dragon: Drawing = (pen) => {
  const scale = pen.main('#4f9a62')
  const [dark, belly] = [darker(scale, 0.28), lighter(scale, 0.55)]
  const wing = 'M0 0Q-6 -40 -30 -48Q-24 -36 -28 -28Q-18 -26 -20 -16Q-12 -12 -14 0Z'
  return [
    placed(path(wing, dark), { x: 18, y: -50, scale: 1 }),
    stroke('M-26 -36Q-46 -30 -50 -46Q-52 -56 -44 -60', scale, 6),
    polygon([-48, -58, -38, -72, -36, -58], dark),
    path('M-30 -34Q-28 -54 -4 -54Q18 -54 22 -40Q16 -24 -6 -24Q-24 -24 -30 -34Z', scale),
    path('M-22 -28Q-4 -18 18 -34Q14 -24 -6 -24Q-16 -24 -22 -28Z', belly),
    path('M10 -48Q18 -70 30 -76L38 -66Q28 -56 24 -36Z', scale),
    path('M24 -76Q28 -88 40 -86L56 -78Q58 -70 50 -68L36 -66Q26 -66 24 -76Z', scale),
    path('M36 -67L56 -73Q56 -66 50 -64L38 -62Z', darker(scale, 0.12)),
    polygon([28, -84, 22, -98, 34, -87], belly),
    circle(38, -79, 2.6, '#ffe08a'),
    circle(38.6, -79, 1.3, pen.tone(ink)),
    circle(53, -76, 1.1, pen.tone(ink)),
    path('M58 -70Q70 -74 76 -66Q70 -68 80 -58Q70 -58 58 -66Z', '#ff9a3c'),
    placed(path(wing, lighter(dark, 0.15)), { x: 4, y: -50, scale: 1 }),
    stroke('M-16 -28q-4 8 -12 8M8 -28q0 8 -8 10', dark, 4.6),
    ...[-20, -10, 0].map((x) => polygon([x - 4, -52, x, -60, x + 4, -53], dark)),
  ].join('')
}

/** What swims or flies. */
export const swimmersAndBirds = { bird, dragon, fish, whale, otter, duck, penguin, butterfly }
