import type { Chance } from './chance.ts'
import type { Time } from './read-prompt.ts'
import { mix, round, type PictureSize } from './svg.ts'

/** The state of a picture while it is drawn. */
export type Stage = PictureSize & {
  /** The shorter side; shapes scale with it, so that extreme ratios look alike. */
  short: number
  /** The y position where ground and sky meet. */
  horizon: number
  /** The y position of the nearest objects, above the caption. */
  base: number
  time: Time
  /** The colours of the sky, from the top to the horizon. */
  sky: readonly [string, string, string]
  /** A colour in the light of the picture; `distance` is 0 close by and 1 at the horizon. */
  lit(colour: string, distance?: number): string
  chance: Chance
  gradients: string[]
  shapes: string[]
}

const skies = {
  day: ['#4b9fe0', '#a9d8f0', '#e9f5ee'],
  sunset: ['#3a356f', '#c9627a', '#ffb873'],
  night: ['#0a1030', '#1d2a63', '#41508f'],
} as const
const tints = {
  day: ['#fff4d6', 0.04],
  sunset: ['#b8486a', 0.24],
  night: ['#121c4e', 0.5],
} as const
const hazeMax = 0.6

type Setting = PictureSize & { time: Time; chance: Chance; covered: number }

/** An empty picture; `covered` is the height of the caption at the bottom. */
export function openStage({ width, height, time, chance, covered }: Setting): Stage {
  const short = Math.min(width, height)
  const base = height - covered - short * 0.045
  const sky = skies[time]
  const [tint, share] = tints[time]
  const lit = (colour: string, distance = 0) =>
    mix(mix(colour, tint, share), sky[2], distance * hazeMax)
  const horizon = base * chance.between(0.56, 0.66)
  return { width, height, short, base, horizon, time, sky, lit, chance, gradients: [], shapes: [] }
}

/** The SVG markup of a finished picture. */
export function markupOf({ gradients, shapes }: Pick<Stage, 'gradients' | 'shapes'>): string {
  return `<defs>${gradients.join('')}</defs>${shapes.join('')}`
}

/**
 * A fill that passes through the colours from top to bottom. All gradients are vertical: rows of
 * equal pixels keep a large PNG small and fast to encode.
 */
export function shade({ gradients }: Pick<Stage, 'gradients'>, colours: readonly string[]): string {
  const id = `shade${gradients.length}`
  const stops = colours.map((colour, at) => {
    const offset = round(at / Math.max(1, colours.length - 1))
    return `<stop offset="${offset}" stop-color="${colour}"/>`
  })
  gradients.push(
    `<linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${stops.join('')}</linearGradient>`,
  )
  return `url(#${id})`
}

/** Positions across the picture, about `wanted` apart; about 24 at most, even at extreme ratios. */
export function steps({ width, chance }: Pick<Stage, 'width' | 'chance'>, wanted: number) {
  const step = Math.max(wanted, width / 20)
  const positions: number[] = []
  for (let x = -step; x < width + step * 2; x += step) {
    positions.push(x + step * chance.between(-0.25, 0.25))
  }
  return positions
}
