import type { Chance } from './chance.ts'
import type { ThingName } from './read-prompt.ts'
import { circle, darker, ellipse, lighter, path, polygon, rect, stroke } from './svg.ts'

/** Colours and randomness for one drawing. */
export type Pen = {
  /** The requested colour, or else the drawing's `own` colour, in the picture's light. */
  main(own: string): string
  /** Another colour in the picture's light. */
  tone(colour: string): string
  isColoured: boolean
  /** The colour of windows, which are lit at night. */
  window: string
  chance: Chance
}

/** Draws an object around the origin: it stands at y 0, and is at most 100 high and 100 wide. */
type Drawing = (pen: Pen) => string

const ink = '#26222e'

const house: Drawing = (pen) => {
  const wall = pen.main('#f1dfc0')
  const roof = pen.tone(pen.isColoured ? '#4d4453' : '#b5523f')
  const frame = pen.tone('#fbf6ea')
  const pane = (x: number) =>
    rect(x - 1.5, -39.5, [17, 18], frame) +
    rect(x, -38, [14, 15], pen.window) +
    rect(x + 6.3, -38, [1.4, 15], frame) +
    rect(x, -31, [14, 1.4], frame)
  return [
    rect(18, -90, [10, 26], pen.tone('#8d5a4a')),
    rect(16.5, -92, [13, 4], pen.tone('#6f463b')),
    polygon([-37, 0, -37, -50, 0, -84, 37, -50, 37, 0], wall),
    polygon([12, 0, 12, -73, 37, -50, 37, 0], darker(wall, 0.14)),
    polygon([-47, -45, 0, -90, 0, -81, -42, -40], roof),
    polygon([47, -45, 0, -90, 0, -81, 42, -40], darker(roof, 0.22)),
    circle(0, -62, 6, frame),
    circle(0, -62, 4.4, pen.window),
    rect(-8.5, -29, [17, 29], pen.tone('#6a4630'), { corner: 1 }),
    circle(5, -14, 1.3, pen.tone('#f0cf7a')),
    pane(-30),
    pane(17),
    rect(-39, -3, [78, 3], darker(wall, 0.3)),
  ].join('')
}

const lighthouse: Drawing = (pen) => {
  const wall = pen.tone('#fbf6ea')
  const band = pen.main('#d8503f')
  const half = (y: number) => 9 + (8 * (y + 76)) / 76
  const slice = (top: number, bottom: number, colour: string) =>
    polygon([-half(top), top, half(top), top, half(bottom), bottom, -half(bottom), bottom], colour)
  return [
    polygon([0, -84, -92, -104, -92, -66], '#fff3c4', 0.2),
    polygon([0, -84, 92, -104, 92, -66], '#fff3c4', 0.2),
    slice(-76, 0, wall),
    slice(-64, -48, band),
    slice(-32, -16, band),
    polygon([2, -76, 9, -76, 17, 0, 6, 0], '#141433', 0.12),
    rect(-13, -78, [26, 3.4], pen.tone('#4a4453')),
    rect(-7.5, -91, [15, 13], '#ffe79a'),
    stroke('M-7.5 -91V-78M-2.5 -91V-78M2.5 -91V-78M7.5 -91V-78', pen.tone('#4a4453'), 1),
    polygon([-10, -91, 0, -100, 10, -91], band),
    path('M-5 0V-9A5 5 0 0 1 5 -9V0Z', pen.tone('#5c3d2e')),
  ].join('')
}

const tree: Drawing = (pen) => {
  const leaf = pen.main(pen.chance.pick(['#5a9a4e', '#6ba554', '#4a8a52']))
  const wide = pen.chance.between(0.9, 1.08)
  return [
    path('M-5 0Q-3 -22 -4 -42L4 -42Q3 -20 6 0Z', pen.tone('#6e4b37')),
    stroke('M0 -30L-12 -46M1 -34L12 -50', pen.tone('#6e4b37'), 3),
    circle(-17 * wide, -46, 17, darker(leaf, 0.2)),
    circle(17 * wide, -48, 18, darker(leaf, 0.2)),
    circle(0, -44, 17, darker(leaf, 0.2)),
    circle(-14 * wide, -62, 18, leaf),
    circle(15 * wide, -64, 17, leaf),
    circle(0, -76, 21, leaf),
    circle(-7, -81, 12, lighter(leaf, 0.18)),
    circle(-19 * wide, -63, 8, lighter(leaf, 0.18)),
  ].join('')
}

const flower: Drawing = (pen) => {
  const petal = pen.main(pen.chance.pick(['#e5546b', '#f0a03c', '#c86fc9', '#f7f3ea']))
  const stem = pen.tone('#4f8a45')
  const lean = Math.round(pen.chance.between(-9, 9))
  const petals = Array.from({ length: 7 }, (_, at) => {
    const shape = ellipse(0, -88, [7.6, 13], at % 2 === 0 ? petal : lighter(petal, 0.14))
    return `<g transform="rotate(${Math.round((360 / 7) * at)} 0 -76)">${shape}</g>`
  })
  return [
    stroke(`M${lean} 0Q${-lean} -40 0 -74`, stem, 3),
    path(`M${lean * 0.3} -24Q-22 -28 -25 -46Q-7 -44 ${lean * 0.2} -26Z`, stem),
    path(`M${lean * 0.1} -38Q20 -40 23 -56Q7 -55 0 -40Z`, darker(stem, 0.12)),
    ...petals,
    circle(0, -76, 7.4, pen.tone('#f2c14a')),
    circle(-1.6, -77.6, 4.4, pen.tone('#fadf86')),
  ].join('')
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
    polygon([-23, -68, -22, -97, -4, -82], fur),
    polygon([23, -68, 22, -97, 4, -82], fur),
    polygon([-19, -75, -18.5, -90, -9, -81], pen.tone('#eaa6a0')),
    polygon([19, -75, 18.5, -90, 9, -81], pen.tone('#eaa6a0')),
    ellipse(0, -66, [25, 21], fur),
    ellipse(0, -58, [12, 9], pale),
    stroke('M-4 -86v8M0 -87v10M4 -86v8', dark, 2),
    ...[-10, 10].flatMap((x) => [
      circle(x, -68, 4.6, pen.tone('#cfe08a')),
      ellipse(x, -68, [1.8, 4], pen.tone(ink)),
    ]),
    polygon([-3, -62, 3, -62, 0, -58.6], pen.tone('#d9777a')),
    stroke('M0 -58.6Q-1 -54 -6 -55M0 -58.6Q1 -54 6 -55', pen.tone(ink), 1.1),
    stroke('M-13 -59l-17 -3M-13 -57l-17 2M13 -59l17 -3M13 -57l17 2', pen.tone('#f7f2ea'), 0.8),
  ].join('')
}

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

const boat: Drawing = (pen) => {
  const sail = pen.main('#fbf5e8')
  const hull = pen.tone(pen.isColoured ? '#8a5a3c' : '#c8563f')
  return [
    stroke('M0 -18V-98', pen.tone('#6a4a38'), 2.4),
    path('M3 -94Q34 -62 38 -24H3Z', sail),
    path('M-3 -88Q-22 -56 -30 -24H-3Z', darker(sail, 0.12)),
    polygon([0, -98, 13, -94, 0, -90], pen.tone('#d8503f')),
    path('M-46 -20H46Q40 0 26 2H-26Q-40 0 -46 -20Z', hull),
    path('M-46 -20H46L44.6 -14H-44.6Z', lighter(hull, 0.55)),
    path('M-38 -3Q0 4 38 -3L26 2H-26Z', '#10203a', 0.3),
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

type Kind = {
  draw: Drawing
  /** The object's height as a fraction of the picture's shorter side. */
  size: number
  /** The position between the horizon (0) and the lower edge (1). */
  depth: number
  /** Whether the object needs water, so that the scene becomes a sea. */
  swims?: boolean
}

export const kinds: Readonly<Record<ThingName, Kind>> = {
  lighthouse: { draw: lighthouse, size: 0.66, depth: 0.5 },
  house: { draw: house, size: 0.44, depth: 0.55 },
  tree: { draw: tree, size: 0.44, depth: 0.62 },
  boat: { draw: boat, size: 0.34, depth: 0.45, swims: true },
  fish: { draw: fish, size: 0.2, depth: 0.75, swims: true },
  cat: { draw: cat, size: 0.32, depth: 0.9 },
  bird: { draw: bird, size: 0.2, depth: 0.95 },
  flower: { draw: flower, size: 0.22, depth: 1 },
}
