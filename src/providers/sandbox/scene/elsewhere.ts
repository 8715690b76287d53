import { shade, steps, type Stage } from './stage.ts'
import { circle, ellipse, mix, path, polygon, rect, round, stroke } from './svg.ts'
import { darker, lighter } from './things/pen.ts'

/** Outer space with a planet below and one far away. */
export function drawSpace(stage: Stage): void {
  const { width, height, short, chance, shapes } = stage
  const sky = chance.pick([
    '#07081d #1a1440 #3a2260',
    '#050a1c #0f2248 #1d4468',
    '#0a0618 #2a1038 #56204a',
  ])
  shapes.push(rect(0, 0, [width, height], shade(stage, sky.split(' '))))
  shapes.push(
    ellipse(
      width * chance.between(0.3, 0.7),
      height * 0.36,
      [width * 0.5, short * 0.13],
      '#b58be8',
      { turn: -18, opacity: 0.16 },
    ),
  )
  shapes.push(
    ellipse(
      width * chance.between(0.3, 0.7),
      height * 0.36,
      [width * 0.34, short * 0.06],
      '#f0c8ff',
      { turn: -18, opacity: 0.16 },
    ),
  )
  const dots = (count: number) =>
    Array.from(
      { length: count },
      () => `M${round(chance.between(0, width))} ${round(chance.between(0, height))}h0`,
    ).join('')
  shapes.push(
    stroke(dots(110), '#fffbe8', Math.max(0.8, short * 0.003), 0.8),
    stroke(dots(22), '#ffffff', Math.max(1.4, short * 0.0065)),
  )
  drawPlanet(stage)
  drawMoonscape(stage)
}

function drawPlanet({ width, height, short, chance, shapes }: Stage): void {
  const far = short * chance.between(0.09, 0.14)
  const [x, y] = [width * chance.between(0.14, 0.86), height * chance.between(0.14, 0.28)]
  const colour = chance.pick(['#e8a05a', '#6fb0d8', '#d8758a', '#8fc98a'])
  const ring = (sweep: number) =>
    `<g transform="rotate(-18 ${round(x)} ${round(y)})">${stroke(`M${round(x - far * 1.8)} ${round(y)}A${round(far * 1.8)} ${round(far * 0.4)} 0 0 ${sweep} ${round(x + far * 1.8)} ${round(y)}`, lighter(colour, 0.55), far * 0.12, 0.9)}</g>`
  shapes.push(ring(1))
  shapes.push(
    circle(x, y, far, colour),
    path(
      `M${round(x)} ${round(y - far)}a${round(far)} ${round(far)} 0 0 1 0 ${round(far * 2)}a${round(far * 1.5)} ${round(far * 1.5)} 0 0 0 0 ${round(-far * 2)}Z`,
      darker(colour, 0.4),
    ),
  )
  shapes.push(ring(0))
}

function drawMoonscape(stage: Stage): void {
  const { width, height, short, chance, shapes } = stage
  const ground = chance.pick(['#7a5a8c', '#4f7a8c', '#a8644f'])
  const radius = Math.max(width, short) * 1.15
  shapes.push(
    circle(width * 0.5, height * 0.74 + radius, radius * 1.02, lighter(ground, 0.4), 0.25),
  )
  shapes.push(
    circle(
      width * 0.5,
      height * 0.75 + radius,
      radius,
      shade(stage, [ground, darker(ground, 0.75)]),
    ),
  )
  for (let crater = 0; crater < 7; crater += 1) {
    const size = short * chance.between(0.015, 0.045)
    shapes.push(
      ellipse(
        width * chance.between(0.05, 0.95),
        height * chance.between(0.83, 0.98),
        [size * 1.7, size * 0.55],
        darker(ground, 0.35),
        { opacity: 0.7 },
      ),
    )
  }
}

/** Below the surface of the sea: rays of light, sand, plants and bubbles. */
export function drawUnderwater(stage: Stage): void {
  const { width, height, short, chance, shapes } = stage
  const [top, middle, deep] = chance
    .pick(['#7fdbe0 #2b95b8 #0f4a78', '#8fe0d0 #2f9aa0 #0d5468', '#86cdf0 #3a7fc8 #1a3a80'])
    .split(' ')
  shapes.push(rect(0, 0, [width, height], shade(stage, [top!, middle!, deep!])))
  for (let ray = 0; ray < 5; ray += 1) {
    const x = (width * (ray + chance.between(0, 0.8))) / 5
    const wide = short * chance.between(0.05, 0.1)
    shapes.push(
      polygon(
        [x, 0, x + wide, 0, x + wide * 2.4 - short * 0.3, height, x - short * 0.4, height],
        '#ffffff',
        0.08,
      ),
    )
  }
  const sand = mix('#e8d4a0', deep!, 0.3)
  const points = steps(stage, short * 0.4, 12)
  let line = `M${round(-width)} ${round(height)}`
  for (const x of points) line += `L${round(x)} ${round(height * chance.between(0.8, 0.87))}`
  shapes.push(path(`${line}L${round(width * 2)} ${round(height)}Z`, mix(sand, middle!, 0.4)))
  shapes.push(
    ellipse(
      width / 2,
      height * 1.02,
      [width * 0.8, height * 0.16],
      shade(stage, [sand, darker(sand, 0.3)]),
    ),
  )
  for (const x of steps(stage, short * 0.13, 16)) {
    const y = height * chance.between(0.88, 0.98)
    const size = short * chance.between(0.12, 0.3)
    const sway = size * chance.between(0.14, 0.24)
    const colour = mix(
      chance.pick(['#3f9a6a', '#e0708a', '#e89a4f', '#5aa88a', '#a86fc0']),
      deep!,
      0.25,
    )
    const weed = (lean: number, tall: number) =>
      `M${round(x)} ${round(y)}q${round(sway + lean)} ${round(-tall * 0.3)} ${round(lean)} ${round(-tall * 0.5)}t${round(lean)} ${round(-tall * 0.5)}`
    shapes.push(
      stroke(
        weed(0, size) + weed(-sway, size * 0.7) + weed(sway, size * 0.8),
        colour,
        short * 0.014,
      ),
    )
  }
  const bubbles = Array.from(
    { length: 26 },
    () => `M${round(chance.between(0, width))} ${round(chance.between(0.05, 0.8) * height)}h0`,
  )
  shapes.push(
    stroke(bubbles.slice(0, 18).join(''), '#e8fbff', short * 0.009, 0.5),
    stroke(bubbles.slice(18).join(''), '#e8fbff', short * 0.02, 0.3),
  )
}

/** A room with a table, on which objects stand. */
export function drawTable(stage: Stage, colour = '#a8744c'): void {
  const { width, height, horizon, short, light, chance, shapes } = stage
  const wall = light.lit(chance.pick(['#b9cbc4', '#e3cdb0', '#c3bfd6', '#d9b7a8']))
  shapes.push(rect(0, 0, [width, height], shade(stage, [darker(wall, 0.12), lighter(wall, 0.2)])))
  const [x, top, size] = [
    width * chance.pick([0.2, 0.72]),
    horizon * 0.12,
    Math.min(short * 0.36, horizon * 0.62),
  ]
  const frame = light.lit('#fbf6ea')
  shapes.push(rect(x - size * 0.4, top, [size * 0.8, size], frame, { corner: size * 0.02 }))
  shapes.push(
    rect(x - size * 0.36, top + size * 0.04, [size * 0.72, size * 0.92], shade(stage, light.sky)),
  )
  shapes.push(
    circle(
      x + size * 0.12,
      top + size * 0.3,
      size * 0.1,
      light.time === 'night' ? '#f7efd2' : '#fff6cf',
      0.95,
    ),
  )
  shapes.push(
    rect(x - size * 0.012, top, [size * 0.024, size], frame),
    rect(x - size * 0.4, top + size * 0.48, [size * 0.8, size * 0.024], frame),
  )
  const wood = light.lit(colour)
  shapes.push(
    rect(
      0,
      horizon,
      [width, height - horizon],
      shade(stage, [lighter(wood, 0.22), darker(wood, 0.2)]),
    ),
  )
  shapes.push(rect(0, horizon, [width, short * 0.008], lighter(wood, 0.45)))
  const grain = [0.2, 0.45, 0.72].map(
    (down) => `M0 ${round(horizon + (height - horizon) * down)}H${width}`,
  )
  shapes.push(stroke(grain.join(''), darker(wood, 0.3), Math.max(0.6, short * 0.002), 0.45))
}
