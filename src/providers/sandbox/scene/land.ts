import type { Chance } from './chance.ts'
import { shade, steps, type Stage } from './stage.ts'
import {
  ellipse,
  hillPath,
  mix,
  path,
  placed,
  polygon,
  rect,
  round,
  stroke,
  type Point,
} from './svg.ts'
import { drawings } from './things/index.ts'
import { darker, lighter, penFor } from './things/pen.ts'

/** The line of the far edge of the land on which things stand. */
export type Edge = (x: number) => number

/** A flat ground from the horizon to the lower edge. */
export function drawGround(stage: Stage, colour: string): Edge {
  const { width, height, horizon, light, shapes } = stage
  const fill = shade(stage, [
    light.lit(lighter(colour, 0.12), 0.3),
    light.lit(colour),
    light.lit(darker(colour, 0.24)),
  ])
  shapes.push(rect(0, horizon, [width, height - horizon], fill))
  return () => horizon
}

/** Rolling hills in layers from the horizon on; gives the edge of the nearest. */
export function drawHills(stage: Stage, colour: string, layers: number): Edge {
  const { height, horizon, short, base, light, chance, shapes } = stage
  const topOf = (layer: number) => horizon + (base - horizon) * (layer / layers) * 0.5
  let edge: Edge = () => horizon
  for (let layer = 0; layer < layers; layer += 1) {
    const depth = 1 - layer / layers
    const top = topOf(layer)
    const rise = short * 0.085 * (layer === layers - 1 ? 0.5 : 1)
    const points = steps(stage, short * chance.between(0.4, 0.6), 14).map((x) => ({
      x,
      y: top - rise * chance.between(0, 1),
    }))
    const near = light.lit(darker(colour, 0.06 * layer), depth * 0.75)
    // The next layer covers the rest.
    const bottom = layer === layers - 1 ? height : topOf(layer + 1) + rise * 0.2
    const fill = shade(stage, [lighter(near, 0.12), darker(near, 0.1)])
    shapes.push(path(hillPath(points, bottom), fill))
    edge = () => top
  }
  return edge
}

/** Mountains in two ranges behind the horizon, with snow on the higher one. */
export function drawMountains(stage: Stage, colour = '#6f7f9c'): void {
  const { horizon, short, light, chance, shapes } = stage
  for (const [range, depth] of [0.85, 0.5].entries()) {
    const rock = light.lit(colour, depth)
    const snow = light.lit('#fbfdff', depth * 0.6)
    for (const x of steps(stage, short * 0.36, 12)) {
      const peak = Math.min(
        horizon * 0.8,
        short * chance.between(range === 0 ? 0.3 : 0.16, range === 0 ? 0.5 : 0.34),
      )
      drawPeak(
        shapes,
        { x, y: horizon, peak, half: peak * chance.between(0.8, 1.05) },
        { rock, snow: range === 0 ? snow : undefined, chance },
      )
    }
  }
}

type Peak = Point & { peak: number; half: number }

function drawPeak(
  shapes: string[],
  { x, y, peak, half }: Peak,
  { rock, snow, chance }: { rock: string; snow: string | undefined; chance: Chance },
): void {
  const top = y - peak
  const fold = x + half * chance.between(-0.2, 0.12)
  shapes.push(
    polygon([x - half, y + 2, x, top, x + half, y + 2], lighter(rock, 0.1)),
    polygon([x, top, x + half, y + 2, fold, y + 2], darker(rock, 0.2)),
  )
  if (snow === undefined) return
  const at = (share: number, across: number) => [x + half * share * across, top + peak * share]
  shapes.push(
    polygon(
      [
        ...at(0, 0),
        ...at(0.34, -1),
        ...at(0.26, -0.5),
        ...at(0.36, -0.15),
        ...at(0.27, 0.3),
        ...at(0.38, 0.55),
        ...at(0.32, 1),
      ],
      snow,
    ),
    polygon([...at(0, 0), ...at(0.27, 0.3), ...at(0.38, 0.55), ...at(0.32, 1)], darker(snow, 0.14)),
  )
}

/** Water from the horizon down, with the light of sun or moon on it. */
export function drawWater(stage: Stage, lightX: number, colour = '#3a86ad'): void {
  const { width, height, horizon, short, light, chance, shapes } = stage
  const far = mix(light.lit(colour, 0.45), light.sky.at(-1)!, 0.3)
  const near = light.lit(darker(colour, 0.34))
  shapes.push(
    rect(0, horizon, [width, height - horizon], shade(stage, [far, light.lit(colour), near])),
  )
  const [faint, clear] = ['', ''].map(() => [] as string[])
  const isRough = light.air === 'storm'
  const rows = 16
  for (let row = 0; row < rows; row += 1) {
    const depth = (row / rows) ** 1.5
    const y = horizon + (height - horizon) * (depth + 0.012)
    const length = short * (0.03 + depth * 0.16)
    for (let wave = 0; wave < 4; wave += 1) {
      const x = chance.between(-0.05, 1) * width
      faint!.push(
        isRough
          ? `M${round(x)} ${round(y)}q${round(length / 4)} ${round(-length * 0.2)} ${round(length / 2)} 0t${round(length / 2)} 0`
          : `M${round(x)} ${round(y)}h${round(length)}`,
      )
    }
    const spread = short * (0.02 + depth * 0.1)
    const start = lightX + chance.between(-1, 0.4) * spread
    clear!.push(`M${round(start)} ${round(y)}h${round(spread * chance.between(0.5, 1.4))}`)
  }
  const thin = Math.max(0.8, short * 0.0032)
  shapes.push(stroke(faint!.join(''), lighter(far, 0.45), isRough ? thin * 1.6 : thin, 0.5))
  if (light.air === 'clear') {
    const glow = light.time === 'night' ? '#f7efd2' : '#fff0bf'
    shapes.push(stroke(clear!.join(''), glow, thin * 1.4, 0.75))
  }
}

/** Land before the water, higher on one side; gives its edge. */
export function drawShore(
  stage: Stage,
  { colour, isHighLeft }: { colour: string; isHighLeft: boolean },
): Edge {
  const { width, height, horizon, base, short, light, chance, shapes } = stage
  const depth = base - horizon
  const [high, low] = [
    horizon + depth * chance.between(0.1, 0.24),
    horizon + depth * chance.between(0.62, 0.78),
  ]
  const [from, to] = isHighLeft ? [high, low] : [low, high]
  const edge: Edge = (x) => {
    const along = Math.min(1, Math.max(0, x / width))
    const eased = along * along * (3 - 2 * along)
    return from + (to - from) * eased
  }
  const points = [-0.02, 0.12, 0.28, 0.45, 0.62, 0.8, 1.02].map((along) => ({
    x: along * width,
    y: edge(along * width),
  }))
  const sand = light.lit('#e8d4a6')
  // The grass covers the rest.
  const covered = Math.max(from, to) + short * 0.05
  const line = (down: number) => points.map(({ x, y }) => ({ x, y: y + down }))
  shapes.push(
    path(hillPath(line(-short * 0.016), covered), light.lit('#f7fbfa', 0.2), 0.7),
    path(hillPath(line(0), covered), sand),
    path(
      hillPath(line(short * 0.03), height),
      shade(stage, [light.lit(lighter(colour, 0.1)), light.lit(darker(colour, 0.22))]),
    ),
  )
  return (x) => edge(x) + short * 0.035
}

/** A river or a road that winds from the horizon to the front. */
export function drawWay(
  stage: Stage,
  { colour, isRoad }: { colour: string; isRoad: boolean },
): void {
  const { width, height, horizon, short, light, chance, shapes } = stage
  const x = width * chance.between(0.38, 0.62)
  const bend = width * chance.between(0.1, 0.2) * (chance.whole(0, 1) === 0 ? 1 : -1)
  const half = Math.min(width * 0.24, short * 0.3)
  const depth = height - horizon
  const edge = (side: number) => {
    const at = (share: number, shift: number) =>
      `${round(x + shift + side * half * share)} ${round(horizon + depth * share)}`
    return {
      start: at(0.012, 0),
      first: at(0.18, bend),
      second: at(0.42, -bend),
      end: at(1, bend * 0.3),
    }
  }
  const [left, right] = [edge(-1), edge(1)]
  const data = `M${left.start}C${left.first} ${left.second} ${left.end}L${right.end}C${right.second} ${right.first} ${right.start}Z`
  const fill = isRoad
    ? shade(stage, [light.lit(lighter(colour, 0.2), 0.3), light.lit(colour)])
    : shade(stage, [
        mix(light.lit(colour, 0.4), light.sky.at(-1)!, 0.4),
        light.lit(colour),
        light.lit(darker(colour, 0.25)),
      ])
  shapes.push(path(data, fill))
}

/** Rows of trees along the horizon, the nearer one open in the middle. */
export function drawForest(stage: Stage, colour: string | undefined, leaf: 'pine' | 'tree'): void {
  const { width, horizon, base, short, light, chance, shapes } = stage
  const row = (depth: number, gap: number, size: number, isOpen: boolean) => {
    for (const x of steps(stage, short * gap, 26)) {
      const middle = Math.abs(x / width - 0.5)
      if (isOpen && middle < 0.26) continue
      const pen = penFor(light, { colour, distance: depth, chance })
      const y = horizon + (base - horizon) * (1 - depth) * chance.between(0.18, 0.3)
      shapes.push(
        placed(drawings[leaf](pen), {
          x,
          y,
          scale: (short * size * chance.between(0.85, 1.2)) / 100,
        }),
      )
    }
  }
  row(0.8, 0.075, 0.2, false)
  row(0.55, 0.1, 0.3, false)
  row(0.2, 0.17, 0.5, true)
}

/** A few trees far away. */
export function drawDistantTrees(stage: Stage, colour: string | undefined): void {
  const { width, horizon, short, light, chance, shapes } = stage
  const leaf = chance.pick(['tree', 'pine'] as const)
  const middle = width * chance.between(0, 1)
  for (const x of steps(stage, short * 0.07, 26)) {
    if (Math.abs(x - middle) > width * 0.28) continue
    const pen = penFor(light, { colour, distance: 0.6, chance })
    const scale = (short * chance.between(0.1, 0.17)) / 100
    shapes.push(placed(drawings[leaf](pen), { x, y: horizon + short * 0.015, scale }))
  }
}

/** Grass and small flowers in front. */
export function drawMeadow(
  stage: Stage,
  { edge, hasFlowers }: { edge: Edge; hasFlowers: boolean },
): void {
  const { width, height, short, light, chance, shapes } = stage
  const blades: string[] = []
  const blooms: Record<string, string> = { '#f7f3ea': '', '#f3d34e': '', '#e9799c': '' }
  const colours = Object.keys(blooms)
  for (let tuft = 0; tuft < 60; tuft += 1) {
    const x = chance.between(0, 1) * width
    const top = edge(x)
    const depth = chance.between(0.12, 1)
    const y = top + (height - top) * depth
    const size = short * 0.022 * (0.4 + depth)
    blades.push(
      `M${round(x)} ${round(y)}l${round(-size * 0.35)} ${round(-size)}M${round(x)} ${round(y)}v${round(-size * 1.25)}M${round(x)} ${round(y)}l${round(size * 0.4)} ${round(-size * 0.9)}`,
    )
    if (hasFlowers) blooms[colours[tuft % 3]!] += `M${round(x + size)} ${round(y - size * 0.6)}h0`
  }
  shapes.push(stroke(blades.join(''), light.lit('#3f6f3c'), Math.max(0.7, short * 0.0028), 0.5))
  for (const [colour, data] of Object.entries(blooms)) {
    if (data !== '') shapes.push(stroke(data, light.lit(colour), Math.max(1.4, short * 0.011)))
  }
}

/** A small island far out, for palms. */
export function drawIsland({ width, horizon, short, light, shapes, chance }: Stage): void {
  const x = width * chance.between(0.3, 0.7)
  const wide = short * 0.26
  shapes.push(ellipse(x, horizon + short * 0.03, [wide, short * 0.05], light.lit('#e8d4a6')))
  shapes.push(
    ellipse(x, horizon + short * 0.012, [wide * 0.7, short * 0.045], light.lit('#6aa35a')),
  )
  for (const [across, size] of [
    [-0.35, 0.2],
    [0.05, 0.26],
    [0.4, 0.18],
  ] as const) {
    const pen = penFor(light, { colour: undefined, distance: 0.2, chance })
    shapes.push(
      placed(drawings.palm(pen), { x: x + across * wide, y: horizon, scale: (short * size) / 100 }),
    )
  }
}
