import type { Edge } from './land.ts'
import type { Idea, Thing } from './read-prompt.ts'
import type { Stage } from './stage.ts'
import { kinds, type Home } from './things/index.ts'
import type { ThingName } from './words.ts'

/** Where one thing stands. */
export type Placement = {
  name: ThingName
  colour: string | undefined
  x: number
  y: number
  /** Its height in pixels. */
  size: number
  distance: number
  flip: boolean
}

type One = { thing: Thing; home: Home; size: number; depth: number; inRow: boolean }

const mostOfOne = 12
const mostOfAll = 32
/** From this many of one kind on they stand in a row of their own, in front. */
const rowMin = 5

/** How many of each there are, each with what its kind says; `everywhere` replaces its home. */
function instances(idea: Idea, everywhere: Home | undefined): One[] {
  const all = idea.things.flatMap((thing) => {
    const { home, size, depth, several } = kinds[thing.name]
    const count = Math.min(mostOfOne, thing.count ?? several)
    const one = { thing, home: everywhere ?? home, size, depth, inRow: count >= rowMin }
    return Array.from({ length: count }, () => one)
  })
  return all.slice(0, mostOfAll)
}

type Ground = {
  edge: Edge
  /** Where the water is that things swim on, if any. */
  water: { top: number; bottom: number } | undefined
  /** The side of the picture where the ground is higher. */
  isHighLeft: boolean
  everywhere?: Home
}

/** Finds a place for each thing, so that none hides another; the farthest come first. */
export function arrange(stage: Stage, idea: Idea, ground: Ground): Placement[] {
  const all = instances(idea, ground.everywhere)
  const boost = boostFor(all.filter(({ inRow }) => !inRow).length)
  const rows = new Map<string, One[]>()
  for (const one of all) {
    const row = one.inRow
      ? `${one.thing.name}${one.thing.colour}`
      : one.home === 'table'
        ? 'ground'
        : one.home
    rows.set(row, [...(rows.get(row) ?? []), one])
  }
  const placements = [...rows.values()].flatMap((row) =>
    placeRow(stage, row, { ground, boost, alone: rows.size === 1 }),
  )
  return heldUp(placements).toSorted((a, b) => b.distance - a.distance || a.y - b.y)
}

const holders: ReadonlySet<ThingName> = new Set(['person', 'woman', 'child', 'astronaut', 'robot'])

/** Gives each umbrella to someone who can hold it. */
function heldUp(placements: readonly Placement[]): Placement[] {
  const free = placements.filter(({ name }) => holders.has(name))
  return placements.map((placement) => {
    const holder = placement.name === 'umbrella' ? free.shift() : undefined
    if (holder === undefined) return placement
    const { x, y, size, distance } = holder
    const inHand = { x: x + size * 0.19, y: y - size * 0.4, size: size * 0.86 }
    return { ...placement, ...inHand, distance: distance - 0.001, flip: false }
  })
}

function boostFor(count: number): number {
  if (count <= 1) return 1.32
  if (count === 2) return 1.16
  return count <= 4 ? 1 : count <= 7 ? 0.84 : 0.68
}

type RowOptions = { ground: Ground; boost: number; alone: boolean }

function placeRow(
  stage: Stage,
  row: readonly One[],
  { ground, boost, alone }: RowOptions,
): Placement[] {
  const { width, short, chance } = stage
  const ordered = inOrder(row, stage, ground)
  const slot = width / ordered.length
  const lead = chance.between(-0.12, 0.12)
  return ordered.map(({ thing, home, size: own, depth, inRow }, index) => {
    const wobble =
      ordered.length === 1
        ? singlePlace(thing, home, ground, stage, alone)
        : chance.between(0.38, 0.62)
    const middle = slot * (index + wobble) + (ordered.length > 1 ? lead * slot : 0)
    const ownDepth = Math.max(0, depth + chance.between(-0.05, 0.05))
    const wanted = own * short * (inRow ? 1 : boost) * (home === 'water' && !alone ? 0.8 : 1)
    const room = stage.horizon + (stage.base - stage.horizon) * 0.2
    const size = Math.min(wanted * (1 - ownDepth * 0.35), slot * 1.05, room * 0.92)
    const x = Math.max(size * 0.54, Math.min(width - size * 0.54, middle))
    return {
      name: thing.name,
      colour: thing.colour,
      ...heightAt(stage, { x, size, home, depth: ownDepth }, ground),
      x,
      size,
      flip: chance.whole(0, 1) === 0,
    }
  })
}

/** Where in the picture a thing stands that is alone in its row, 0 to 1. */
function singlePlace(
  thing: Thing,
  home: Home,
  { isHighLeft, water }: Ground,
  { chance }: Stage,
  alone: boolean,
): number {
  const { side } = thing
  if (side !== undefined) return { left: 0.22, middle: 0.5, right: 0.78 }[side]
  if (!alone && water === undefined && home !== 'table') {
    return (home === 'air') === isHighLeft ? chance.between(0.6, 0.74) : chance.between(0.26, 0.4)
  }
  const onShore = water !== undefined && home === 'ground'
  if (onShore) return isHighLeft ? chance.between(0.22, 0.34) : chance.between(0.66, 0.78)
  if (water !== undefined && home === 'water' && !alone)
    return isHighLeft ? chance.between(0.64, 0.8) : chance.between(0.2, 0.36)
  return chance.pick([chance.between(0.32, 0.44), chance.between(0.56, 0.68), 0.5])
}

/** Those with a side stand there; else the large ones where the ground is high. */
function inOrder(row: readonly One[], { chance }: Stage, { isHighLeft, water }: Ground): One[] {
  const groups = new Map(row.map(({ thing }) => [thing, chance.between(-1, 1)]))
  const rank = ({ thing, size }: One) => {
    if (thing.side !== undefined) return { left: -9, middle: 0, right: 9 }[thing.side]
    const pull = water === undefined ? 0 : (isHighLeft ? -12 : 12) * (size - 0.3)
    return pull + groups.get(thing)!
  }
  return row.toSorted((a, b) => rank(a) - rank(b))
}

type Standing = { x: number; size: number; home: Home; depth: number }

function heightAt(
  stage: Stage,
  { x, size, home, depth }: Standing,
  ground: Ground,
): Pick<Placement, 'y' | 'distance'> {
  const { base, horizon, height, chance } = stage
  if (home === 'air') {
    const y = horizon * chance.between(0.45, 0.72) + size * 0.25
    return { y: Math.max(size * 1.05, y), distance: 0.3 }
  }
  if (home === 'water' && ground.water !== undefined) {
    const { top, bottom } = ground.water
    const y = top + Math.max((bottom - top) * chance.between(0.16, 0.55), size * 0.3)
    return { y: Math.min(y, ground.edge(x) - size * 0.1), distance: 0.42 }
  }
  if (home === 'water') {
    const y = chance.between(0.3, 0.7) * height
    return { y: y + size * 0.5, distance: 0.2 * chance.between(0, 1) }
  }
  const far = ground.edge(x)
  const lowest = Math.max(base, far)
  return { y: lowest - (lowest - far) * Math.min(0.92, depth * 1.7), distance: depth }
}
