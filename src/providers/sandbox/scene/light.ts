import type { Chance } from './chance.ts'
import { mix } from './svg.ts'

export type Time = 'day' | 'night' | 'sunset' | 'dawn'
export type Air = 'clear' | 'grey' | 'storm'

/** The light of a picture: it tints every colour, so that all things stand in the same one. */
export type Light = {
  time: Time
  air: Air
  /** From the top of the sky to the horizon. */
  sky: readonly string[]
  /** A colour in this light; `distance` is 0 close by and 1 at the horizon. */
  lit(colour: string, distance?: number): string
}

const clearSkies: Readonly<Record<Time, readonly [string, ...string[]]>> = {
  day: ['#4b9fe0 #a9d8f0 #e9f5ee', '#6cbbe8 #bfe2ee #fdf1d4', '#3f8fd6 #8ec8ec #d9eff5'],
  night: ['#0a1030 #1d2a63 #41508f', '#12103a #33296b #6a4b8c', '#06162a #103a56 #2d6b7c'],
  sunset: ['#2f2a66 #b4527f #ffab6b', '#4a3a7d #e0697a #ffc27a', '#274272 #d97a72 #ffd08a'],
  dawn: ['#7fa6d6 #e2b8c4 #ffdcb4', '#93b0da #f3c6b6 #ffe9c4', '#6f9dc9 #c9c3dd #ffd9c9'],
}
const greySkies: Readonly<Record<Time, string>> = {
  day: '#7f96a8 #a9bac4 #d3dcdf',
  night: '#10182c #26324d #44526b',
  sunset: '#4c4a68 #8a6d80 #c99a8c',
  dawn: '#8296ad #b4b3bf #dcc9bf',
}
const stormSkies: Readonly<Record<Time, string>> = {
  day: '#2c3a4d #55677a #93a4ab',
  night: '#080d1c #1a2439 #37455c',
  sunset: '#2b2740 #6a4a5c #b9806c',
  dawn: '#3a4660 #73788c #b5a3a2',
}
/** The colour that the light adds, and how much of it. */
const tints: Readonly<Record<Time, readonly [string, number]>> = {
  day: ['#fff4d6', 0.04],
  night: ['#121c4e', 0.5],
  sunset: ['#b8486a', 0.24],
  dawn: ['#f0b8a8', 0.16],
}
const airTints: Readonly<Record<Air, readonly [string, number]>> = {
  clear: ['#ffffff', 0],
  grey: ['#8fa0ac', 0.16],
  storm: ['#34465a', 0.3],
}
const hazeMost = 0.62

/** The light of a time and weather; a colour for the sky replaces its own. */
export function lightOf(time: Time, air: Air, chance: Chance, skyColour?: string): Light {
  const clear = chance.pick(clearSkies[time])
  const chosen = air === 'clear' ? clear : (air === 'grey' ? greySkies : stormSkies)[time]
  const sky = chosen
    .split(' ')
    .map((band, index) =>
      skyColour === undefined ? band : mix(band, skyColour, 0.75 - index * 0.2),
    )
  const horizon = sky.at(-1)!
  const [tint, tinted] = tints[time]
  const [airTint, aired] = airTints[air]
  const known = new Map<string, string>()
  const lit = (colour: string, distance = 0) => {
    const key = `${colour}${distance}`
    const found = known.get(key)
    if (found !== undefined) return found
    const lighted = mix(mix(colour, tint, tinted), airTint, aired)
    const made = mix(lighted, horizon, distance * hazeMost)
    known.set(key, made)
    return made
  }
  return { time, air, sky, lit }
}
