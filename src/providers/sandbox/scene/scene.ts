import { readFileSync } from 'node:fs'
import { drawAbstract } from './abstract.ts'
import { chanceFrom, type Chance } from './chance.ts'
import { readPrompt, type Thing, type ThingName, type Time } from './read-prompt.ts'
import {
  band,
  circle,
  darker,
  ellipse,
  lighter,
  mix,
  round,
  shade,
  type PictureSize,
} from './svg.ts'

type Request = PictureSize & {
  prompt: string
  seed: number
  /** The height of the caption at the bottom. */
  covered: number
}

/** The colours of a drawing. */
type Paint = {
  /** The requested colour, or the thing's own. */
  main: string
  /** The colour of windows, which are lit at night. */
  window: string
  /** A colour in the light of the picture; `distance` is 0 close by and 1 at the horizon. */
  lit(colour: string, distance: number): string
}

type Stage = PictureSize & {
  /** The shorter side; shapes scale with it, so that extreme ratios look alike. */
  short: number
  /** The y position where ground and sky meet. */
  horizon: number
  /** The y position of the nearest objects, above the caption. */
  base: number
  time: Time
  paint: Paint
  chance: Chance
  shapes: string[]
}

/** The light of each time of day: the sky from the top to the horizon, a tint of all colours, and the sun. */
const lights = {
  day: { sky: ['#4b9fe0', '#a9d8f0', '#e9f5ee'], tint: ['#fff4d6', 0.04], sun: '#fff1b0' },
  sunset: { sky: ['#3a356f', '#c9627a', '#ffb873'], tint: ['#b8486a', 0.24], sun: '#ffd27a' },
  night: { sky: ['#0a1030', '#1d2a63', '#41508f'], tint: ['#121c4e', 0.5], sun: '#f7efd2' },
} as const
const hazeMax = 0.6
/** The colours and the opacity over the first picture of an edit. */
const washes = {
  day: ['#fff2b8', '#ffd070', 0.3],
  sunset: ['#5a3a80', '#ffb469', 0.46],
  night: ['#081034', '#2a356e', 0.62],
} as const

type Kind = {
  /** The thing's own colours. */
  colours: readonly [string, ...string[]]
  /** The thing's height as a fraction of the picture's shorter side. */
  size: number
  /** The position between the horizon (0) and the lower edge (1). */
  depth: number
  /** Whether the thing needs water, so that the scene becomes a sea. */
  swims?: boolean
}
export const kinds: Readonly<Record<ThingName, Kind>> = {
  lighthouse: { colours: ['#d8503f'], size: 0.66, depth: 0.5 },
  house: { colours: ['#f1dfc0'], size: 0.44, depth: 0.55 },
  tree: { colours: ['#5a9a4e', '#6ba554', '#4a8a52'], size: 0.44, depth: 0.62 },
  boat: { colours: ['#fbf5e8'], size: 0.34, depth: 0.45, swims: true },
  fish: { colours: ['#f08a3c', '#4fa3c8', '#e8635a'], size: 0.2, depth: 0.75, swims: true },
  cat: { colours: ['#e29a4e', '#8c8794', '#5b5560', '#d9b48a'], size: 0.32, depth: 0.9 },
  bird: { colours: ['#4f8fd0', '#d8563f', '#e8b23c', '#5aa56a'], size: 0.2, depth: 0.95 },
  flower: { colours: ['#e5546b', '#f0a03c', '#c86fc9', '#f7f3ea'], size: 0.22, depth: 1 },
}
const drawnMax = 24

function openStage({ width, height, covered }: Request, time: Time, chance: Chance): Stage {
  const short = Math.min(width, height)
  const base = height - covered - short * 0.045
  const {
    sky,
    tint: [tint, share],
  } = lights[time]
  const lit: Paint['lit'] = (colour, distance) =>
    mix(mix(colour, tint, share), sky[2], distance * hazeMax)
  const window = time === 'day' ? lit('#9cc9dd', 0) : '#ffd98a'
  const horizon = base * chance.between(0.56, 0.66)
  const paint = { main: '#ffffff', window, lit }
  return { width, height, short, base, horizon, time, paint, chance, shapes: [] }
}

/** Draws the prompt's things as SVG markup that fills the size, or else an abstract picture. */
export function drawScene(request: Request): string {
  const chance = chanceFrom(request.prompt, request.seed)
  const { things, places, time, colours } = readPrompt(request.prompt)
  const isEmpty = things.length + places.size === 0 && time === undefined
  if (isEmpty) return drawAbstract(request, colours, chance)
  const stage = openStage(request, time ?? 'day', chance)
  const { horizon, height, base, shapes, paint } = stage
  const lightX = drawSky(stage)
  const isOpen = places.size === 0 && chance.whole(0, 2) > 0
  if (places.has('mountains') || isOpen) drawTiles(stage, 'mountains', horizon)
  if (places.has('town')) drawTiles(stage, 'town', horizon)
  const swimming = things.filter(({ name }) => kinds[name].swims)
  const standing = things.filter(({ name }) => !kinds[name].swims)
  if (!places.has('sea') && swimming.length === 0) {
    drawGround(stage, horizon, ['#7db368', '#4d7f46'])
    drawTiles(stage, 'hills', horizon)
    drawThings(stage, standing, [horizon, base])
    return shapes.join('')
  }
  drawGround(stage, horizon, ['#6fa5c0', '#3a86ad', '#2e5f82'])
  drawTiles(stage, 'waves', horizon, (height - horizon) / 100)
  shapes.push(placed(painted('glitter', paint), lightX, horizon, (height - horizon) / 100))
  const shore = standing.length > 0 ? horizon + (base - horizon) * 0.5 : base
  drawThings(stage, swimming, [horizon, shore])
  if (standing.length > 0) {
    shapes.push(band(stage, [shore + stage.short * 0.1, height], paint.lit('#7db368', 0)))
    drawTiles(stage, 'shore', shore)
  }
  drawThings(stage, standing, [shore, base])
  return shapes.join('')
}

/** Draws the changes of an edit: a tint, and things in the foreground. */
export function drawEdit(request: Request): string {
  const chance = chanceFrom(request.prompt, request.seed)
  const { things, time, colours } = readPrompt(request.prompt)
  const stage = openStage(request, time ?? 'day', chance)
  const { height, short, base, shapes } = stage
  const [top, bottom, opacity] = washes[time ?? chance.pick(['day', 'sunset'])]
  const isTinted = things.length === 0 && colours.length > 0
  const wash = isTinted ? [colours[0]!, colours.at(-1)!] : [top, bottom]
  if (time !== undefined || things.length === 0) {
    shapes.push(band(stage, [0, height], shade(shapes, wash), opacity))
  }
  drawThings(stage, things, [base - short * 0.2, base])
  return shapes.join('')
}

/** Draws the sky with stars or clouds and the sun or moon; returns its x position. */
function drawSky(stage: Stage): number {
  const { width, horizon, short, time, paint, chance, shapes } = stage
  const { sky, sun } = lights[time]
  shapes.push(band(stage, [0, horizon + 2], shade(shapes, sky)))
  if (time === 'night') drawTiles(stage, 'stars', horizon)
  const x = width * chance.pick([chance.between(0.16, 0.38), chance.between(0.62, 0.84)])
  const y = horizon * (time === 'sunset' ? chance.between(0.7, 0.88) : chance.between(0.2, 0.36))
  shapes.push(circle(x, y, short * 0.25, sun, 0.1))
  shapes.push(circle(x, y, short * 0.15, sun, 0.18))
  shapes.push(circle(x, y, short * 0.08, sun))
  if (time === 'night') {
    shapes.push(circle(x + short * 0.03, y - short * 0.012, short * 0.065, sky[0]))
    return x
  }
  for (const at of [0.2, 0.55, 0.85]) {
    const [left, top] = [
      width * (at + chance.between(-0.1, 0.1)),
      horizon * chance.between(0.15, 0.45),
    ]
    shapes.push(
      placed(painted('cloud', paint), left, top, (short / 100) * chance.between(0.8, 1.4)),
    )
  }
  return x
}

/** Fills the picture below `top` with the colours in its light. */
function drawGround(stage: Stage, top: number, colours: readonly string[]): void {
  const { height, paint, shapes } = stage
  const lit = colours.map((colour, at) => paint.lit(colour, at === 0 ? 0.4 : 0))
  shapes.push(band(stage, [top, height], shade(shapes, lit)))
}

const tileWidth = { mountains: 400, town: 200, hills: 400, waves: 400, shore: 400, stars: 400 }
/** Fewer and wider tiles at extreme ratios. */
const tilesMax = 20

/** Repeats a drawing across the picture, so that its origin is at `y`. */
function drawTiles(stage: Stage, name: keyof typeof tileWidth, y: number, high?: number): void {
  const { width, short, paint, chance, shapes } = stage
  const scale = short / 100
  const wide = Math.max(scale, width / tilesMax / tileWidth[name])
  const step = wide * tileWidth[name]
  const id = `tile${shapes.length}`
  shapes.push(`<defs><g id="${id}">${painted(name, paint)}</g></defs>`)
  const size = `scale(${round(wide)} ${round(high ?? scale)})`
  for (let x = -step * chance.between(0, 1); x < width; x += step) {
    shapes.push(`<use href="#${id}" transform="translate(${round(x)} ${round(y)}) ${size}"/>`)
  }
}

/** Moves a drawing around the origin to its position in the picture. */
function placed(markup: string, x: number, y: number, scale: number, flip = false): string {
  const sizes = `${round(flip ? -scale : scale)} ${round(scale)}`
  return `<g transform="translate(${round(x)} ${round(y)}) scale(${sizes})">${markup}</g>`
}

/** Draws things side by side between two heights, distant ones first. */
function drawThings(
  stage: Stage,
  things: readonly Thing[],
  [top, bottom]: readonly [number, number],
): void {
  const { width, short, chance, paint, shapes } = stage
  const all = things
    .flatMap((thing) => Array.from({ length: thing.count }, () => thing))
    .slice(0, drawnMax)
  const slot = width / all.length
  const scale = all.length <= 2 ? 1 : all.length <= 5 ? 0.84 : 0.66
  const placements = all.map((thing, at) => {
    const { size: share, depth } = kinds[thing.name]
    const size = Math.min(short * share * scale, slot * 1.05, bottom * 0.92)
    const wobble = all.length === 1 ? chance.pick([0.34, 0.5, 0.66]) : chance.between(0.42, 0.58)
    const x = Math.max(size * 0.54, Math.min(width - size * 0.54, slot * (at + wobble)))
    const y = Math.max(size, top + (bottom - top) * Math.min(1, depth * chance.between(0.92, 1.05)))
    return { ...thing, x, y, size, flip: chance.whole(0, 1) === 0 }
  })
  for (const { name, colour, x, y, size, flip } of placements.toSorted((a, b) => a.y - b.y)) {
    const { colours, depth, swims } = kinds[name]
    const main = colour ?? chance.pick(colours)
    const drawing = painted(name, { ...paint, main }, (1 - depth) * 0.4)
    if (!swims) shapes.push(ellipse(x, y, [size * 0.42, size * 0.05], '#141433', 0.2))
    shapes.push(placed(drawing, x, y, size / 100, flip))
  }
}

const drawings = new Map<string, string>()

/** The content of a file in `art/`, around the origin: a thing stands at y 0 and is at most 100 high and wide. */
function drawingOf(name: string): string {
  const known = drawings.get(name)
  if (known !== undefined) return known
  const text = readFileSync(new URL(`./art/${name}.svg`, import.meta.url), 'utf8')
  const content = text.replaceAll(/<\/?svg[^>]*>\s*/g, '')
  drawings.set(name, content)
  return content
}

/**
 * A drawing of `art/` as markup in the light of a picture. There, a fill or stroke is `#rrggbb`, `main` or `window`;
 * `-22` after it makes it 22 % darker, `+55` lighter, and `~85` moves it towards the horizon. A `style` is not lit.
 */
function painted(name: string, { main, window, lit }: Paint, distance = 0): string {
  return drawingOf(name).replaceAll(
    /(fill|stroke)="(main|window|#\w{6})(?:([-+~])(\d+))?"/g,
    (_all, attribute: string, base: string, change: string | undefined, percent: string) => {
      if (base === 'window') return `${attribute}="${window}"`
      const share = Number(percent) / 100
      const colour = lit(base === 'main' ? main : base, change === '~' ? share : distance)
      if (change === '-') return `${attribute}="${darker(colour, share)}"`
      return `${attribute}="${change === '+' ? lighter(colour, share) : colour}"`
    },
  )
}
