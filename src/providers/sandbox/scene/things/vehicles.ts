import { circle, ellipse, path, polygon, rect, stroke } from '../svg.ts'
import { darker, lighter, type Drawing, type Pen } from './pen.ts'

function wheel(pen: Pen, x: number, radius: number): string {
  return (
    circle(x, -radius, radius, pen.tone('#26262f')) +
    circle(x, -radius, radius * 0.55, pen.tone('#c9ccd2')) +
    circle(x, -radius, radius * 0.2, pen.tone('#5a5d66'))
  )
}

const car: Drawing = (pen) => {
  const paint = pen.main(pen.chance.pick(['#d8503f', '#3f7fb8', '#e8b23c', '#4f9a76']))
  const beam = pen.isDark ? polygon([49, -22, 130, -30, 130, 2, 49, -16], '#fff3b8', 0.3) : ''
  return [
    ellipse(0, 0, [50, 4], '#10121f', { opacity: 0.25 }),
    beam,
    path(
      'M-50 -14Q-51 -32 -38 -34L-26 -36Q-18 -58 -4 -58H12Q24 -58 32 -37L44 -33Q51 -31 50 -14Q50 -10 46 -10H-46Q-50 -10 -50 -14Z',
      paint,
    ),
    path('M-50 -16H50Q50 -10 46 -10H-46Q-50 -10 -50 -16Z', darker(paint, 0.3)),
    path('M-20 -37Q-14 -53 -5 -53H1V-37Z', pen.window),
    path('M5 -53H12Q20 -53 26 -37H5Z', pen.window),
    stroke('M3 -54V-14', darker(paint, 0.2), 1.2),
    rect(7, -31, [6, 2], darker(paint, 0.4), { corner: 1 }),
    ellipse(47, -24, [3.4, 4], '#fff0b0'),
    rect(-50, -28, [4, 7], '#e8544a', { corner: 1.5 }),
    wheel(pen, -28, 11),
    wheel(pen, 29, 11),
  ].join('')
}

const bus: Drawing = (pen) => {
  const paint = pen.main('#e0a23c')
  return [
    ellipse(0, 0, [52, 4], '#10121f', { opacity: 0.25 }),
    rect(-52, -62, [104, 52], paint, { corner: 7 }),
    rect(-52, -22, [104, 12], darker(paint, 0.25), { corner: 3 }),
    ...[-45, -27, -9, 9].map((x) => rect(x, -54, [15, 18], pen.window, { corner: 2 })),
    rect(28, -54, [19, 44], darker(paint, 0.12), { corner: 2 }),
    rect(30, -53, [15, 22], pen.window, { corner: 2 }),
    rect(-52, -31, [78, 2.4], lighter(paint, 0.6)),
    circle(49, -18, 3, '#fff0b0'),
    wheel(pen, -30, 10),
    wheel(pen, 22, 10),
  ].join('')
}

const bicycle: Drawing = (pen) => {
  const frame = pen.main('#d8503f')
  const tyre = pen.tone('#2b2b35')
  const ring = (x: number) =>
    `<circle cx="${x}" cy="-20" r="18" fill="none" stroke="${tyre}" stroke-width="3.4"/>` +
    stroke(`M${x} -38v36M${x - 18} -20h36`, tyre, 0.7)
  return [
    ring(-27),
    ring(27),
    stroke(
      'M-27 -20L-10 -48L18 -48L-2 -20Z M-10 -48L-2 -20M-27 -20H-2M18 -48L27 -20M18 -48L15 -60',
      frame,
      3.4,
    ),
    stroke('M-10 -48L-13 -57M15 -60L25 -63', tyre, 3),
    ellipse(-13, -58, [8, 2.8], tyre),
    circle(-2, -20, 4, tyre),
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

const balloon: Drawing = (pen) => {
  const cloth = pen.main(pen.chance.pick(['#d8503f', '#4f8fd0', '#e8a33c']))
  const stripe = pen.tone(pen.isColoured ? '#fbf3e2' : '#fbe3a8')
  return [
    stroke('M-12 -32L-6 -14M12 -32L6 -14', pen.tone('#6a4a38'), 1),
    path('M0 -100Q36 -98 36 -66Q34 -46 12 -30H-12Q-34 -46 -36 -66Q-36 -98 0 -100Z', cloth),
    path('M0 -100Q22 -96 22 -66Q20 -44 8 -30H-8Q-20 -44 -22 -66Q-22 -96 0 -100Z', stripe),
    path('M0 -100Q9 -96 9 -66Q8 -44 3 -30H-3Q-8 -44 -9 -66Q-9 -96 0 -100Z', cloth),
    path('M14 -98Q36 -92 36 -66Q34 -46 12 -30H6Q26 -50 26 -70Q25 -88 14 -98Z', '#10121f', 0.14),
    rect(-7, -14, [14, 11], pen.tone('#8a5f3c'), { corner: 2 }),
    rect(-8, -15, [16, 3], pen.tone('#6a452c'), { corner: 1 }),
  ].join('')
}

const plane: Drawing = (pen) => {
  const body = pen.main('#f4f4f2')
  const wing = pen.tone('#4f86c0')
  return [
    polygon([-44, -56, -54, -80, -40, -80, -24, -58], wing),
    path('M-48 -56Q-40 -62 10 -62Q46 -62 52 -50Q46 -42 10 -42Q-34 -42 -48 -56Z', body),
    path(
      'M-48 -56Q-34 -44 10 -44Q44 -44 52 -50Q46 -40 10 -40Q-34 -40 -48 -56Z',
      darker(body, 0.16),
    ),
    polygon([4, -50, -22, -22, -10, -22, 24, -48], wing),
    polygon([8, -60, -8, -78, 0, -78, 22, -60], darker(wing, 0.2)),
    ...[-20, -10, 0, 10, 20].map((x) => circle(x, -54, 2, pen.window)),
    path('M36 -59Q46 -57 49 -52H37Z', pen.window),
  ].join('')
}

const rocket: Drawing = (pen) => {
  const body = pen.main('#f2f1ee')
  const fin = pen.tone('#d8503f')
  return [
    path('M-9 -16Q-10 2 0 14Q10 2 9 -16Z', '#ffb347'),
    path('M-5 -16Q-5 -2 0 6Q5 -2 5 -16Z', '#fff0a8'),
    path('M-15 -38Q-28 -28 -27 -8L-12 -18Z', fin),
    path('M15 -38Q28 -28 27 -8L12 -18Z', darker(fin, 0.2)),
    path('M0 -100Q19 -80 18 -46Q17 -28 12 -16H-12Q-17 -28 -18 -46Q-19 -80 0 -100Z', body),
    path('M3 -96Q19 -80 18 -46Q17 -28 12 -16H3Z', darker(body, 0.14)),
    path('M0 -100Q11 -89 15 -76H-15Q-11 -89 0 -100Z', fin),
    circle(0, -56, 9, pen.tone('#5a6474')),
    circle(0, -56, 6.6, '#9fd8ea'),
    rect(-2, -34, [4, 20], fin, { corner: 2 }),
  ].join('')
}

const kite: Drawing = (pen) => {
  const cloth = pen.main('#d8503f')
  return [
    stroke('M0 -36Q-10 -24 0 -14T-4 4', pen.tone('#f4ead6'), 1.2),
    polygon([0, -100, 28, -70, 0, -34, -28, -70], cloth),
    polygon([0, -100, 28, -70, 0, -70], lighter(cloth, 0.35)),
    polygon([0, -70, 0, -34, -28, -70], darker(cloth, 0.2)),
  ].join('')
}

/** What one travels in, or flies. */
export const vehicles = { car, bus, bicycle, boat, balloon, plane, rocket, kite }
