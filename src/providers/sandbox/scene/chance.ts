import { createHash } from 'node:crypto'

/** A deterministic random source: the same prompt and seed give the same sequence. */
export type Chance = {
  between(low: number, high: number): number
  whole(low: number, high: number): number
  pick<Item>(items: readonly [Item, ...Item[]]): Item
}

const chanceBytes = 8192

/** A random source seeded with a prompt and a number. */
export function chanceFrom(prompt: string, seed: number): Chance {
  const bytes = createHash('shake256', { outputLength: chanceBytes })
    .update(`${seed}\n`)
    .update(prompt)
    .digest()
  let position = 0
  const next = () => {
    const value = bytes.readUInt16BE(position) / 65536
    position = (position + 2) % chanceBytes
    return value
  }
  const whole = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    between: (low, high) => low + next() * (high - low),
    whole,
    pick: (items) => items[whole(0, items.length - 1)] ?? items[0],
  }
}
