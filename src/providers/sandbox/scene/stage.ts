import type { Chance } from './chance.ts'
import type { Light } from './light.ts'
import { round, type PictureSize } from './svg.ts'

/** A picture while it is drawn. */
export type Stage = PictureSize & {
  /** The shorter side; things are sized by it, so that extreme ratios look alike. */
  short: number
  /** Where the ground meets the sky. */
  horizon: number
  /** Where the nearest things stand, above the caption. */
  base: number
  light: Light
  chance: Chance
  gradients: string[]
  shapes: string[]
}

/**
 * A fill that passes through the colours from top to bottom. There are only vertical gradients:
 * rows of equal pixels keep a large PNG small and fast to encode.
 */
export function shade({ gradients }: Stage, colours: readonly string[]): string {
  const id = `shade${gradients.length}`
  const stops = colours.map((colour, index) => {
    const offset = round(index / Math.max(1, colours.length - 1))
    return `<stop offset="${offset}" stop-color="${colour}"/>`
  })
  gradients.push(
    `<linearGradient id="${id}" x1="0" y1="0" x2="0" y2="1">${stops.join('')}</linearGradient>`,
  )
  return `url(#${id})`
}

/** Positions across the picture about `wanted` apart; few enough at extreme ratios. */
export function steps({ width, chance }: Stage, wanted: number, most = 30): number[] {
  const step = Math.max(wanted, width / most)
  const positions = []
  for (let x = -step; x < width + step * 2; x += step) {
    positions.push(x + step * chance.between(-0.25, 0.25))
  }
  return positions
}
