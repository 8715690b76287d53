/** Pseudo-random numbers, equal for equal seeds (mulberry32). */
export type Chance = {
  /** An integer from 0 to `bound` - 1. */
  below(bound: number): number
}

export function chanceFrom(seed: number): Chance {
  let state = seed
  return {
    below: (bound) => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * bound)
    },
  }
}
