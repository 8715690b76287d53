import type { Chance } from '../chance.ts'
import type { Light } from '../light.ts'
import { mix } from '../svg.ts'

/** What a drawing is drawn with. */
export type Pen = {
  /** The colour that was asked for, in the light of the picture; else the drawing's own. */
  main(own: string): string
  /** Another colour in the light of the picture. */
  tone(colour: string): string
  /** Whether a colour was asked for. */
  isColoured: boolean
  /** The colour of a window. */
  window: string
  isDark: boolean
  chance: Chance
}

/**
 * Draws a thing around the origin: it stands on y 0, is as wide as high at most, and reaches up to
 * y -100.
 */
export type Drawing = (pen: Pen) => string

/** A pen for something in this light. */
export function penFor(
  light: Light,
  { colour, distance, chance }: { colour: string | undefined; distance: number; chance: Chance },
): Pen {
  const tone = (own: string) => light.lit(own, distance)
  const isDark = light.time === 'night' || light.air === 'storm'
  return {
    main: (own) => tone(colour ?? own),
    tone,
    isColoured: colour !== undefined,
    window: isDark || light.time === 'sunset' ? '#ffd98a' : tone('#9cc9dd'),
    isDark,
    chance,
  }
}

export function darker(colour: string, share = 0.25): string {
  return mix(colour, '#141433', share)
}

export function lighter(colour: string, share = 0.25): string {
  return mix(colour, '#fffbea', share)
}
