import { circle, ellipse, path, polygon, rect, stroke } from '../svg.ts'
import { darker, lighter, type Drawing, type Pen } from './pen.ts'

type Look = { skin: string; hair: string; clothes: string; legs: string }

function lookOf(pen: Pen): Look {
  return {
    skin: pen.tone(pen.chance.pick(['#f2c9a4', '#d9a27a', '#9c6a4a', '#6f4a38'])),
    hair: pen.tone(pen.chance.pick(['#4a3328', '#2c2530', '#b9793c', '#d9b36a'])),
    clothes: pen.main(pen.chance.pick(['#3f7fa8', '#c8563f', '#4f8a5a', '#d9a03c', '#7a5a9c'])),
    legs: pen.tone('#3d4560'),
  }
}

function face(pen: Pen, y: number): string {
  const ink = pen.tone('#2a2430')
  return (
    circle(-4, y, 1.3, ink) +
    circle(4, y, 1.3, ink) +
    stroke(`M-3 ${y + 5}q3 2.6 6 0`, ink, 1.1) +
    circle(-7, y + 3, 2, pen.tone('#e8938a'), 0.5) +
    circle(7, y + 3, 2, pen.tone('#e8938a'), 0.5)
  )
}

const person: Drawing = (pen) => {
  const { skin, hair, clothes, legs } = lookOf(pen)
  return [
    rect(-9.5, -34, [8.5, 32], legs),
    rect(1, -34, [8.5, 32], darker(legs, 0.15)),
    path('M-12 0v-4h11v4ZM1 0v-4h11v4Z', pen.tone('#33262a')),
    stroke('M-12 -58Q-19 -46 -17 -34', darker(clothes, 0.12), 6.4),
    stroke('M12 -58Q19 -46 17 -34', darker(clothes, 0.2), 6.4),
    circle(-17, -32, 3.4, skin),
    circle(17, -32, 3.4, skin),
    path('M-13 -30V-58Q-12 -66 0 -66Q12 -66 13 -58V-30Z', clothes),
    path('M4 -30V-65Q12 -65 13 -58V-30Z', darker(clothes, 0.14)),
    rect(-3.4, -70, [6.8, 7], darker(skin, 0.1)),
    circle(0, -82, 13.5, skin),
    path('M-14 -82Q-15 -98 0 -98Q15 -98 14 -82Q10 -90 2 -90Q-8 -90 -14 -82Z', hair),
    face(pen, -81),
  ].join('')
}

const woman: Drawing = (pen) => {
  const { skin, hair, clothes } = lookOf(pen)
  return [
    path('M-15 -84Q-20 -58 -14 -50H14Q20 -58 15 -84Z', hair),
    rect(-7, -20, [5, 19], skin),
    rect(2, -20, [5, 19], skin),
    ellipse(-5.4, -1.6, [5, 2.4], pen.tone('#7a3a44')),
    ellipse(5.4, -1.6, [5, 2.4], pen.tone('#7a3a44')),
    stroke('M-10 -58Q-20 -48 -20 -36', skin, 4.6),
    stroke('M10 -58Q20 -48 20 -36', skin, 4.6),
    path('M-9 -64Q0 -61 9 -64Q13 -56 10 -46L22 -14Q0 -8 -22 -14L-10 -46Q-13 -56 -9 -64Z', clothes),
    path('M3 -62L9 -64Q13 -56 10 -46L22 -14Q14 -11 6 -10Z', darker(clothes, 0.14)),
    rect(-11, -48, [22, 3.6], lighter(clothes, 0.45)),
    rect(-3, -69, [6, 7], darker(skin, 0.1)),
    circle(0, -81, 12.8, skin),
    path('M-14 -78Q-16 -97 0 -97Q16 -97 14 -78Q10 -88 0 -89Q-10 -88 -14 -78Z', hair),
    face(pen, -80),
  ].join('')
}

const child: Drawing = (pen) => {
  const { skin, hair, clothes, legs } = lookOf(pen)
  return [
    rect(-9, -26, [8, 24], legs),
    rect(1, -26, [8, 24], darker(legs, 0.15)),
    path('M-12 0v-4h11v4ZM1 0v-4h11v4Z', pen.tone('#8a3a34')),
    stroke('M-11 -46Q-22 -50 -26 -60', clothes, 6),
    stroke('M11 -46Q20 -38 20 -30', clothes, 6),
    circle(-27, -62, 3.6, skin),
    circle(20, -28, 3.6, skin),
    path('M-13 -22V-46Q-12 -54 0 -54Q12 -54 13 -46V-22Z', clothes),
    circle(0, -74, 20, skin),
    path('M-20 -74Q-22 -97 0 -97Q22 -97 20 -74Q12 -86 2 -85Q-12 -85 -20 -74Z', hair),
    face(pen, -72),
  ].join('')
}

const astronaut: Drawing = (pen) => {
  const suit = pen.main('#f4f4f6')
  const [shade, trim] = [darker(suit, 0.16), pen.tone('#d8663f')]
  return [
    rect(-20, -62, [40, 34], darker(suit, 0.35), { corner: 6 }),
    rect(-14, -28, [12, 26], suit, { corner: 5 }),
    rect(2, -28, [12, 26], shade, { corner: 5 }),
    rect(-16, -7, [15, 7], darker(suit, 0.5), { corner: 3 }),
    rect(1, -7, [15, 7], darker(suit, 0.5), { corner: 3 }),
    stroke('M-15 -54Q-29 -46 -27 -32', suit, 10),
    stroke('M15 -54Q30 -58 32 -70', shade, 10),
    circle(-27, -30, 5.4, trim),
    circle(32, -72, 5.4, trim),
    rect(-17, -62, [34, 38], suit, { corner: 10 }),
    rect(-9, -50, [18, 11], darker(suit, 0.25), { corner: 2 }),
    circle(-4, -45, 2, '#ff8f7a'),
    circle(3, -45, 2, '#8fe3c8'),
    rect(-17, -32, [34, 3], trim),
    circle(0, -79, 19, suit),
    ellipse(1, -78, [14, 12], pen.tone('#27335c')),
    path('M-9 -84Q-4 -90 5 -89Q-3 -84 -6 -76Q-10 -79 -9 -84Z', '#cfe6ff', 0.75),
  ].join('')
}

const robot: Drawing = (pen) => {
  const metal = pen.main('#9fb0bd')
  const dark = darker(metal, 0.35)
  return [
    rect(-17, -16, [11, 16], dark, { corner: 2 }),
    rect(6, -16, [11, 16], dark, { corner: 2 }),
    stroke('M-24 -46Q-36 -40 -34 -24M24 -46Q36 -40 34 -24', dark, 6),
    circle(-34, -22, 5, metal),
    circle(34, -22, 5, metal),
    rect(-24, -54, [48, 40], metal, { corner: 6 }),
    rect(-14, -46, [28, 16], darker(metal, 0.6), { corner: 3 }),
    circle(-7, -38, 3, '#8fe3c8'),
    circle(2, -38, 3, '#ffd27a'),
    circle(9, -38, 2, '#ff8f7a'),
    rect(-5, -60, [10, 8], dark),
    rect(-21, -90, [42, 31], lighter(metal, 0.16), { corner: 8 }),
    circle(-9, -76, 6, '#2a3040'),
    circle(9, -76, 6, '#2a3040'),
    circle(-9, -76, 3, '#7ff0e0'),
    circle(9, -76, 3, '#7ff0e0'),
    rect(-8, -67, [16, 3], dark, { corner: 1.5 }),
    stroke('M0 -90v-7', dark, 2),
    circle(0, -98, 3, '#ff8f7a'),
  ].join('')
}

const snowman: Drawing = (pen) => {
  const snow = pen.main('#fbfdff')
  const ink = pen.tone('#2b2a36')
  return [
    stroke('M-20 -48L-40 -60M-34 -57l-2 -8M20 -48L40 -62M34 -58l4 -6', pen.tone('#6a4a38'), 2.4),
    circle(0, -22, 24, darker(snow, 0.06)),
    circle(-3, -24, 20, snow),
    circle(0, -52, 18, darker(snow, 0.05)),
    circle(-2, -54, 15, snow),
    circle(0, -76, 13.5, snow),
    rect(-12, -90, [24, 4], ink, { corner: 1 }),
    rect(-8, -102, [16, 14], ink, { corner: 1 }),
    polygon([0, -77, 16, -74, 0, -72], pen.tone('#ee8a33')),
    ...[
      [-5, -80],
      [5, -80],
      [0, -56],
      [0, -48],
      [0, -30],
    ].map(([x = 0, y = 0]) => circle(x, y, 1.9, ink)),
    path('M-13 -66Q0 -60 13 -66L12 -61Q0 -55 -12 -61Z', pen.tone('#d5453c')),
    rect(6, -63, [6, 16], pen.tone('#c03a34'), { corner: 1 }),
  ].join('')
}

/** Those who walk upright. */
export const people = { person, woman, child, astronaut, robot, snowman }
