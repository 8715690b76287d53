import { shade, steps, type Stage } from './stage.ts'
import {
  circle,
  darker,
  hillPath,
  lighter,
  mix,
  path,
  polygon,
  rect,
  round,
  stroke,
} from './svg.ts'

/**
 * Draws the sky with its sun, moon, stars and clouds; returns the x position of the sun or moon.
 */
export function drawSky(stage: Stage): number {
  const { width, horizon, short, time, sky, chance, shapes } = stage
  const isNight = time === 'night'
  shapes.push(rect(0, 0, [width, horizon + 2], shade(stage, sky)))
  if (isNight) drawStars(stage)
  const x = width * chance.pick([chance.between(0.16, 0.38), chance.between(0.62, 0.84)])
  const y = horizon * (time === 'sunset' ? chance.between(0.7, 0.88) : chance.between(0.2, 0.36))
  const radius = short * (time === 'sunset' ? 0.095 : 0.075)
  const colour = { day: '#fff1b0', sunset: '#ffd27a', night: '#f7efd2' }[time]
  for (const [scale, opacity] of [
    [3.2, 0.1],
    [1.9, 0.18],
    [1, 1],
  ] as const) {
    shapes.push(circle(x, y, radius * scale, colour, opacity))
  }
  if (isNight) shapes.push(circle(x + radius * 0.42, y - radius * 0.16, radius * 0.88, sky[0]))
  else for (const at of [0.2, 0.55, 0.85]) drawCloud(stage, at)
  return x
}

function drawStars({ width, horizon, short, chance, shapes }: Stage): void {
  const count = Math.min(120, Math.round((60 * width) / short))
  const dots = Array.from({ length: count }, () => {
    const y = horizon * 0.92 * chance.between(0, 1) ** 1.4
    return `M${round(chance.between(0, width))} ${round(y)}h0`
  })
  shapes.push(stroke(dots.join(''), '#fffbe8', Math.max(0.8, short * 0.004), 0.8))
}

function drawCloud({ width, horizon, short, sky, lit, chance, shapes }: Stage, at: number): void {
  const size = short * chance.between(0.05, 0.09)
  const x = width * (at + chance.between(-0.1, 0.1))
  const y = horizon * chance.between(0.15, 0.45)
  const colour = mix(lit('#ffffff'), sky[2], 0.12)
  for (const [across, up, scale] of [
    [-1.1, 0, 0.6],
    [0, -0.35, 0.95],
    [1, -0.05, 0.7],
  ] as const) {
    shapes.push(circle(x + across * size, y + up * size, size * scale, colour, 0.92))
  }
  const [wide, flat] = [size * 2.2, size * 0.62]
  shapes.push(rect(x - wide / 2, y, [wide, flat], colour, { corner: flat / 2, opacity: 0.92 }))
}

/** Two ranges of mountains at the horizon, the higher one with snow. */
export function drawMountains({ horizon, short, lit, chance, shapes, width }: Stage): void {
  for (const [range, distance] of [0.85, 0.5].entries()) {
    const rock = lit('#6f7f9c', distance)
    for (const x of steps({ width, chance }, short * 0.36)) {
      const high = short * (range === 0 ? chance.between(0.3, 0.5) : chance.between(0.16, 0.3))
      const peak = Math.min(horizon * 0.8, high)
      const [half, top] = [peak * chance.between(0.8, 1.05), horizon - peak]
      const fold = x + half * chance.between(-0.2, 0.12)
      const at = (down: number, across: number) => [x + half * down * across, top + peak * down]
      shapes.push(
        polygon([x - half, horizon + 2, x, top, x + half, horizon + 2], lighter(rock, 0.1)),
        polygon([x, top, x + half, horizon + 2, fold, horizon + 2], darker(rock, 0.2)),
      )
      if (range > 0) continue
      const snow = [at(0, 0), at(0.34, -1), at(0.26, -0.4), at(0.36, 0), at(0.27, 0.4), at(0.34, 1)]
      shapes.push(polygon(snow.flat(), lit('#fbfdff', distance * 0.6)))
    }
  }
}

/** The skyline of a town at the horizon, its windows lit after sunset. */
export function drawTown({ horizon, short, time, lit, chance, shapes, width }: Stage): void {
  for (const distance of [0.7, 0.3]) {
    const wide = short * 0.11
    for (const x of steps({ width, chance }, wide)) {
      const tall = short * chance.between(0.12, distance > 0.5 ? 0.44 : 0.28)
      const wall = lit(chance.pick(['#7d8aa5', '#a58f8a', '#8f9db0', '#b3a08c']), distance)
      const top = horizon - tall
      const size = wide * 0.14
      const panes: string[] = []
      for (let y = top + size; y < horizon - size * 2; y += size * 2.4) {
        for (const column of [0.16, 0.43, 0.7]) {
          if (time !== 'day' && chance.whole(0, 2) === 0) continue
          panes.push(
            `M${round(x + wide * column)} ${round(y)}h${round(size)}v${round(size)}h${round(-size)}Z`,
          )
        }
      }
      shapes.push(
        rect(x, top, [wide, tall + 2], wall),
        rect(x + wide * 0.62, top, [wide * 0.38, tall + 2], darker(wall, 0.14)),
        path(panes.join(''), time === 'day' ? lighter(wall, 0.3) : '#ffd98a', 0.85),
      )
    }
  }
}

/** Hills in layers from the horizon to the lower edge. */
export function drawHills(stage: Stage): void {
  const { height, horizon, base, short, lit, chance, shapes } = stage
  for (const layer of [0, 1, 2]) {
    const top = horizon + (base - horizon) * 0.18 * layer
    const points = steps(stage, short * 0.5).map((x) => ({
      x,
      y: top - short * 0.08 * chance.between(0, 1),
    }))
    const colour = lit(darker('#6fa85a', 0.06 * layer), (1 - layer / 3) * 0.7)
    const fill = shade(stage, [lighter(colour, 0.12), darker(colour, 0.14)])
    shapes.push(path(hillPath(points, height), fill))
  }
}

/** Draws water from the horizon down, with the reflected light. */
export function drawSea(stage: Stage, lightX: number): void {
  const { width, height, horizon, short, time, sky, lit, chance, shapes } = stage
  const far = mix(lit('#3a86ad', 0.45), sky[2], 0.3)
  const fill = shade(stage, [far, lit('#3a86ad'), lit(darker('#3a86ad', 0.34))])
  shapes.push(rect(0, horizon, [width, height - horizon], fill))
  const [waves, glitter]: [string[], string[]] = [[], []]
  for (let row = 0; row < 16; row += 1) {
    const depth = (row / 16) ** 1.5
    const y = round(horizon + (height - horizon) * (depth + 0.012))
    for (let wave = 0; wave < 4; wave += 1) {
      waves.push(
        `M${round(chance.between(-0.05, 1) * width)} ${y}h${round(short * (0.03 + depth * 0.16))}`,
      )
    }
    const spread = short * (0.02 + depth * 0.1)
    glitter.push(`M${round(lightX - chance.between(0, 1) * spread)} ${y}h${round(spread)}`)
  }
  const thin = Math.max(0.8, short * 0.0035)
  shapes.push(
    stroke(waves.join(''), lighter(far, 0.45), thin, 0.5),
    stroke(glitter.join(''), time === 'night' ? '#f7efd2' : '#fff0bf', thin * 1.4, 0.75),
  )
}

/** Draws land in front of the water; returns the y position of its upper edge. */
export function drawShore(stage: Stage): number {
  const { width, height, horizon, base, short, lit, chance, shapes } = stage
  const top = horizon + (base - horizon) * 0.5
  const line = [-0.02, 0.2, 0.4, 0.6, 0.8, 1.02].map((along) => ({
    x: along * width,
    y: top + short * chance.between(-0.03, 0.03),
  }))
  const lower = (down: number) => line.map(({ x, y }) => ({ x, y: y + short * down }))
  const grass = shade(stage, [lit('#7db368'), lit('#4d7f46')])
  shapes.push(
    path(hillPath(lower(-0.014), height), lit('#f7fbfa', 0.2), 0.7),
    path(hillPath(line, height), lit('#e8d4a6')),
    path(hillPath(lower(0.035), height), grass),
  )
  return top
}

/** Draws an underwater background for fish. */
export function drawUnderwater(stage: Stage): void {
  const { width, height, short, lit, chance, shapes } = stage
  const colours = ['#7fd0e0', '#2f8fb5', '#14496e'].map((colour) => lit(colour))
  shapes.push(rect(0, 0, [width, height], shade(stage, colours)))
  for (const x of steps(stage, short * 0.5)) {
    const [wide, lean] = [short * chance.between(0.06, 0.14), short * 0.3]
    shapes.push(
      polygon([x, 0, x + wide, 0, x + wide - lean, height, x - lean, height], '#ffffff', 0.07),
    )
  }
  for (let bubble = 0; bubble < 20; bubble += 1) {
    const radius = short * chance.between(0.004, 0.014)
    shapes.push(
      circle(chance.between(0, width), chance.between(0, height), radius, '#ffffff', 0.35),
    )
  }
}
