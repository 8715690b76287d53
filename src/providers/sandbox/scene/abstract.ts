import type { Chance } from './chance.ts'
import { mix, round, type PictureSize } from './svg.ts'

type Palette = {
  skyTop: string
  skyBottom: string
  light: string
  far: string
  near: string
  accent: string
}

type Canvas = PictureSize & {
  /** The shorter side; shapes are sized by it, so that extreme ratios look alike. */
  short: number
  palette: Palette
  gradients: string[]
  shapes: string[]
}

const palettes: readonly [string, ...string[]] = [
  '#2b2d5b #f2a37c #ffe3b3 #c9627a #2a1e45 #f7c548',
  '#a9dde6 #f4f1de #fff8e7 #5fb3b3 #12455e #f28f5b',
  '#8fcbec #fdf3d0 #fff6c9 #8cc084 #1f5b4a #f4a259',
  '#f8bcc8 #fff1e6 #ffffff #e78fa5 #6d2e54 #f6bd60',
  '#0b1433 #4b5fa8 #f5f1d8 #5a6fb3 #0a0f24 #8fd3d1',
  '#f3cf8e #fbeedb #fffaf0 #dd9b5d #7a3b2e #3c8d93',
  '#bfdfc0 #f5f5e4 #fffde8 #7fb69a #123b35 #e07a5f',
  '#b9a5ea #fbe4f0 #fff7fb #9a7fd1 #3a2467 #ff9f9f',
  '#3a1230 #e8553f #ffd27a #b23a48 #1f0a20 #ffb04a',
  '#9fe3cf #fafff5 #ffffff #66c2a5 #1d4e5f #ffcb5c',
]

const motifs: readonly [typeof drawDunes, ...(typeof drawDunes)[]] = [
  drawDunes,
  drawPeaks,
  drawRings,
  drawBlossoms,
  drawTiles,
]

/** Draws the abstract picture as SVG markup that fills the given size. */
export function drawAbstract(chance: Chance, size: PictureSize): string {
  const [skyTop = '', skyBottom = '', light = '', far = '', near = '', accent = ''] = chance
    .pick(palettes)
    .split(' ')
  const canvas: Canvas = {
    ...size,
    short: Math.min(size.width, size.height),
    palette: { skyTop, skyBottom, light, far, near, accent },
    gradients: [],
    shapes: [],
  }
  const sky = shade(canvas, skyTop, skyBottom)
  canvas.shapes.push(`<rect width="${size.width}" height="${size.height}" fill="${sky}"/>`)
  chance.pick(motifs)(canvas, chance)
  return `<defs>${canvas.gradients.join('')}</defs>${canvas.shapes.join('')}`
}

function drawDunes(canvas: Canvas, chance: Chance): void {
  const { width, height, short, palette } = canvas
  drawSun(canvas, chance)
  const layers = chance.whole(4, 6)
  for (let layer = 0; layer < layers; layer += 1) {
    const depth = layer / (layers - 1)
    const base = height * (0.46 + 0.4 * depth)
    const points = ridge(width, short * chance.between(0.35, 0.7), chance).map((x) => ({
      x,
      y: base + short * chance.between(-0.13, 0.13),
    }))
    drawHill(canvas, points, mix(palette.far, palette.near, depth))
  }
}

function drawPeaks(canvas: Canvas, chance: Chance): void {
  const { width, height, short, palette } = canvas
  drawSun(canvas, chance)
  for (let layer = 0; layer < 3; layer += 1) {
    const colour = mix(palette.far, palette.near, layer / 3)
    const bottom = height * (0.74 + 0.1 * layer)
    for (const x of ridge(width, short * 0.42, chance)) {
      const top = bottom - short * chance.between(0.2, 0.5 - 0.06 * layer)
      const half = (bottom - top) * chance.between(0.75, 1)
      const fold = x + half * chance.between(-0.25, 0.1)
      const fill = shade(canvas, mix(colour, palette.light, 0.35), colour)
      polygon(canvas, fill, [x - half, bottom, x, top, x + half, bottom])
      polygon(canvas, mix(colour, palette.near, 0.35), [x, top, x + half, bottom, fold, bottom])
    }
    const foot = [0, width / 2, width].map((x) => ({ x, y: bottom - short * 0.02 }))
    drawHill(canvas, foot, mix(colour, palette.near, 0.3))
  }
}

function drawRings(canvas: Canvas, chance: Chance): void {
  const { width, height, short, palette } = canvas
  const x = width * chance.between(0.25, 0.75)
  const y = height * chance.between(0.25, 0.6)
  const rings = chance.whole(6, 9)
  const reach = Math.min(Math.hypot(width, height) * 0.62, short * 1.5)
  const colours = [palette.far, palette.accent, palette.near, palette.light]
  const first = chance.whole(0, 3)
  for (let ring = rings; ring > 0; ring -= 1) {
    const own = colours[(first + ring) % colours.length] ?? palette.far
    const colour = mix(own, palette.skyBottom, (0.6 * ring) / rings)
    const fill = shade(canvas, mix(colour, palette.light, 0.25), colour)
    const radius = (reach * ring) / rings
    disc(canvas, x, y, radius, fill)
    if (ring % 2 === 0) {
      const angle = chance.between(0, 2 * Math.PI)
      const planet = short * chance.between(0.025, 0.07)
      const [planetX, planetY] = [x + radius * Math.cos(angle), y + radius * Math.sin(angle)]
      disc(canvas, planetX, planetY, planet, palette.near)
      disc(canvas, planetX - planet * 0.2, planetY - planet * 0.2, planet * 0.7, palette.accent)
    }
  }
}

function drawBlossoms(canvas: Canvas, chance: Chance): void {
  const { width, height, short, palette } = canvas
  const count = Math.min(24, Math.round((7 * Math.max(width, height)) / short))
  const colours: [string, ...string[]] = [palette.far, palette.near, palette.accent, palette.light]
  for (let bloom = 0; bloom < count; bloom += 1) {
    const along = (bloom + chance.between(0.1, 0.9)) / count
    const across = chance.between(0.08, 0.92)
    const x = width * (width >= height ? along : across)
    const y = height * (width >= height ? across : along)
    const radius = short * chance.between(0.12, 0.3)
    const petals = chance.whole(6, 11)
    const turn = chance.between(0, 360)
    const colour = chance.pick(colours)
    const thickness = (radius * 1.9) / petals
    for (let petal = 0; petal < petals; petal += 1) {
      const angle = round(turn + (360 * petal) / petals)
      canvas.shapes.push(
        `<ellipse cx="${round(x)}" cy="${round(y - radius * 0.58)}" rx="${round(thickness)}"`,
        ` ry="${round(radius * 0.5)}" fill="${mix(colour, palette.skyBottom, 0.15)}"`,
        ` fill-opacity="0.72" transform="rotate(${angle} ${round(x)} ${round(y)})"/>`,
      )
    }
    disc(canvas, x, y, radius * 0.24, mix(colour, palette.near, 0.6))
    disc(canvas, x, y, radius * 0.13, palette.accent)
  }
}

function drawTiles(canvas: Canvas, chance: Chance): void {
  const { width, height, short, palette } = canvas
  // Whole pixels, since otherwise thin seams would show between neighbours.
  const cell = Math.ceil(Math.max(short / chance.whole(3, 5), Math.max(width, height) / 20))
  const colours: [string, ...string[]] = [
    palette.far,
    palette.near,
    palette.accent,
    palette.light,
    mix(palette.far, palette.skyBottom, 0.5),
  ]
  for (let y = 0; y < height; y += cell) {
    for (let x = 0; x < width; x += cell) {
      const ground = chance.pick(colours)
      const figure = chance.pick(colours)
      polygon(canvas, ground, [x, y, x + cell, y, x + cell, y + cell, x, y + cell])
      const [left, right] = chance.pick([
        [x, x + cell],
        [x + cell, x],
      ])
      const [top, bottom] = chance.pick([
        [y, y + cell],
        [y + cell, y],
      ])
      const kind = chance.whole(0, 3)
      if (kind === 0) polygon(canvas, figure, [left, top, right, top, left, bottom])
      else if (kind === 1) disc(canvas, x + cell / 2, y + cell / 2, cell * 0.34, figure)
      else {
        const sweep = right > left === bottom > top ? 1 : 0
        const arc = `A${round(cell)} ${round(cell)} 0 0 ${sweep} ${round(left)} ${round(bottom)}`
        const path = `M${round(left)} ${round(top)}L${round(right)} ${round(top)}${arc}Z`
        canvas.shapes.push(`<path d="${path}" fill="${figure}"/>`)
      }
    }
  }
}

function drawSun({ width, height, short, palette, shapes }: Canvas, chance: Chance): void {
  const x = width * chance.between(0.2, 0.8)
  const y = height * chance.between(0.16, 0.36)
  const radius = short * chance.between(0.07, 0.13)
  const colour = chance.pick([palette.light, palette.accent])
  for (const [scale, opacity] of [
    [2.6, 0.16],
    [1.7, 0.28],
    [1, 1],
  ] as const) {
    shapes.push(
      `<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius * scale)}"`,
      ` fill="${colour}" fill-opacity="${opacity}"/>`,
    )
  }
}

function drawHill(canvas: Canvas, points: { x: number; y: number }[], colour: string): void {
  const [first, ...others] = points
  if (first === undefined) return
  let path = `M${round(first.x)} ${round(first.y)}`
  let previous = first
  for (const point of others) {
    const middle = round((previous.x + point.x) / 2)
    path += `C${middle} ${round(previous.y)} ${middle} ${round(point.y)}`
    path += ` ${round(point.x)} ${round(point.y)}`
    previous = point
  }
  path += `V${canvas.height}H${round(first.x)}Z`
  const fill = shade(canvas, mix(colour, canvas.palette.light, 0.18), colour)
  canvas.shapes.push(`<path d="${path}" fill="${fill}"/>`)
}

function ridge(width: number, wanted: number, chance: Chance): number[] {
  // Bounds the number of shapes at extreme ratios, where they cost time and are barely visible.
  const step = Math.max(wanted, width / 30)
  const positions = []
  for (let x = -step; x < width + step * 2; x += step) {
    positions.push(x + step * chance.between(-0.25, 0.25))
  }
  return positions
}

function disc({ shapes }: Canvas, x: number, y: number, radius: number, fill: string): void {
  shapes.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" fill="${fill}"/>`)
}

function polygon({ shapes }: Canvas, fill: string, coordinates: number[]): void {
  shapes.push(`<polygon points="${coordinates.map(round).join(' ')}" fill="${fill}"/>`)
}

// Only vertical gradients: rows of equal pixels keep a large PNG small and fast to encode.
function shade(canvas: Canvas, top: string, bottom: string): string {
  const id = `shade${canvas.gradients.length}`
  const stops = `<stop stop-color="${top}"/><stop offset="1" stop-color="${bottom}"/>`
  canvas.gradients.push(
    `<linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${stops}</linearGradient>`,
  )
  return `url(#${id})`
}
