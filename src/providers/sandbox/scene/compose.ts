import { drawAbstract } from './abstract.ts'
import { arrange, type Placement } from './arrange.ts'
import { chanceFrom, type Chance } from './chance.ts'
import { drawSpace, drawTable, drawUnderwater } from './elsewhere.ts'
import {
  drawDistantTrees,
  drawForest,
  drawGround,
  drawHills,
  drawIsland,
  drawMeadow,
  drawMountains,
  drawShore,
  drawWater,
  drawWay,
  type Edge,
} from './land.ts'
import { lightOf, type Air, type Time } from './light.ts'
import { readPrompt, type Idea } from './read-prompt.ts'
import { drawSky, drawWeather } from './sky.ts'
import type { Stage } from './stage.ts'
import { ellipse, placed, type PictureSize } from './svg.ts'
import { drawings, kinds } from './things/index.ts'
import { penFor } from './things/pen.ts'
import { drawSkyline, drawStreet } from './town.ts'
import type { StyleName } from './words.ts'

/** SVG markup that fills the size, and how it is to be painted. */
export type Scene = { markup: string; styles: ReadonlySet<StyleName> }

type Request = PictureSize & {
  prompt: string
  seed: number
  /** The height at the bottom that the caption covers. */
  covered: number
}

/** Draws what a prompt asks for; without a word that it knows, an abstract picture. */
export function drawScene({ prompt, seed, covered, ...size }: Request): Scene {
  const chance = chanceFrom(prompt, seed)
  const idea = readPrompt(prompt)
  const isEmpty = idea.things.length + idea.places.size + idea.sky.size === 0
  if (isEmpty || idea.styles.has('abstract')) {
    return { markup: drawAbstract(chance, size), styles: idea.styles }
  }
  const stage = openStage(size, { idea, chance, covered })
  drawPlace(stage, idea)
  const markup = `<defs>${stage.gradients.join('')}</defs>${stage.shapes.join('')}`
  return { markup, styles: idea.styles }
}

type Setting = { idea: Idea; chance: Chance; covered: number }

/** An empty picture in the light of an idea. */
export function openStage(size: PictureSize, { idea, chance, covered }: Setting): Stage {
  const short = Math.min(size.width, size.height)
  const base = size.height - covered - short * 0.045
  const isTall = size.height > size.width * 1.2
  const horizon = base * (isTall ? chance.between(0.6, 0.68) : chance.between(0.56, 0.66))
  const light = lightOf(timeOf(idea), airOf(idea), chance, idea.sky.get('sky'))
  return { ...size, short, base, horizon, light, chance, gradients: [], shapes: [] }
}

function timeOf({ sky }: Idea): Time {
  if (sky.has('sunset')) return 'sunset'
  if (sky.has('dawn')) return 'dawn'
  if (sky.has('day') || sky.has('sun')) return 'day'
  const dark = sky.has('night') || sky.has('moon') || sky.has('stars') || sky.has('aurora')
  return dark ? 'night' : 'day'
}

function airOf({ sky }: Idea): Air {
  if (sky.has('storm') || sky.has('lightning')) return 'storm'
  const isGrey = sky.has('rain') || sky.has('fog') || (sky.has('snow') && !sky.has('sun'))
  return isGrey && !sky.has('sunset') && !sky.has('dawn') ? 'grey' : 'clear'
}

function drawPlace(stage: Stage, idea: Idea): void {
  const nowhere: Edge = () => stage.horizon
  const flat = { edge: nowhere, water: undefined, isHighLeft: stage.chance.whole(0, 1) === 0 }
  if (isInSpace(idea)) {
    drawSpace(stage)
    return drawThings(
      stage,
      arrange(stage, idea, { ...flat, edge: () => stage.height * 0.8 }),
      false,
    )
  }
  if (isUnderwater(idea)) {
    drawUnderwater(stage)
    return drawThings(stage, arrange(stage, idea, { ...flat, everywhere: 'water' }), false)
  }
  if (isOnTable(idea)) {
    drawTable(stage, idea.places.get('table'))
    return drawThings(stage, arrange(stage, idea, { ...flat, everywhere: 'table' }), true)
  }
  drawOutside(stage, idea)
}

function isInSpace({ places, things }: Idea): boolean {
  return (
    places.has('space') ||
    (places.size === 0 && things.some(({ name }) => name === 'rocket' || name === 'astronaut'))
  )
}

function isUnderwater({ places, things }: Idea): boolean {
  if (places.has('underwater')) return true
  return places.size === 0 && things.length > 0 && things.every(({ name }) => name === 'fish')
}

function isOnTable({ places, things, sky }: Idea): boolean {
  if (places.has('table')) return true
  const areObjects = things.length > 0 && things.every(({ name }) => kinds[name].home === 'table')
  const outside = [...sky.keys()].some((name) => name !== 'night' && name !== 'day')
  return places.size === 0 && areObjects && !outside
}

const grass = '#6fa85a'

function groundColour({ places, sky, things }: Idea): string {
  const own = places.get('meadow') ?? places.get('hill')
  if (own !== undefined) return own
  if (sky.has('snow') || things.some(({ name }) => name === 'penguin' || name === 'snowman'))
    return '#e9f1f6'
  if (places.has('desert') || things.some(({ name }) => name === 'cactus'))
    return places.get('desert') ?? '#dfae6b'
  if (places.has('beach')) return places.get('beach') ?? '#e6cf9c'
  if (sky.has('autumn')) return '#b98f4a'
  return grass
}

function drawOutside(stage: Stage, idea: Idea): void {
  const { places, sky, things } = idea
  const { width, chance, light } = stage
  const isHighLeft = chance.whole(0, 1) === 0
  const swims = things.some(({ name }) => kinds[name].home === 'water' || name === 'lighthouse')
  const hasWater =
    ['sea', 'lake', 'beach', 'island'].some((name) => places.has(name as 'sea')) ||
    (swims && !places.has('river'))
  const lightX = width * (isHighLeft ? chance.between(0.62, 0.84) : chance.between(0.16, 0.38))
  const ground = groundColour(idea)
  drawSky(stage, sky, lightX)
  // Where the prompt leaves the distance open, the seed decides about it.
  const isOpen = ['mountain', 'lake', 'city', 'street', 'forest', 'desert', 'beach'].every(
    (name) => !places.has(name as 'sea'),
  )
  const distance = isOpen ? chance.pick(['mountains', 'trees', 'nothing']) : 'nothing'
  if (places.has('mountain') || places.has('lake') || distance === 'mountains') {
    drawMountains(stage, places.get('mountain'))
  }
  if (places.has('city')) drawSkyline(stage, places.get('city'))
  const waterColour = places.get('sea') ?? places.get('lake') ?? places.get('beach')
  let edge: Edge
  let water: { top: number; bottom: number } | undefined
  if (hasWater) {
    drawWater(stage, lightX, waterColour)
    if (places.has('island')) drawIsland(stage)
    const stands = things.some(
      ({ name }) => kinds[name].home !== 'water' && kinds[name].home !== 'air',
    )
    water = { top: stage.horizon, bottom: stands ? (stage.horizon + stage.base) / 2 : stage.base }
    edge =
      stands || places.has('beach') || chance.whole(0, 1) === 0
        ? drawShore(stage, { colour: ground, isHighLeft })
        : () => stage.base
  } else if (places.has('street')) {
    drawStreet(stage)
    edge = () => stage.horizon
  } else if (places.has('city')) {
    edge = drawGround(stage, '#8f9a86')
  } else {
    edge = drawHills(stage, ground, places.has('mountain') || places.has('forest') ? 2 : 3)
  }
  if (distance === 'trees' && !hasWater) drawDistantTrees(stage, foliage(idea, 'forest'))
  if (places.has('river'))
    drawWay(stage, { colour: places.get('river') ?? '#4f9bc0', isRoad: false })
  if (places.has('city') && !hasWater && !places.has('street'))
    drawWay(stage, { colour: '#70747f', isRoad: true })
  if (places.has('forest'))
    drawForest(
      stage,
      foliage(idea, 'forest'),
      sky.has('autumn') ? 'tree' : chance.pick(['pine', 'tree']),
    )
  if (ground === grass && !places.has('street') && !places.has('city'))
    drawMeadow(stage, { edge, hasFlowers: places.has('meadow') || sky.has('spring') })
  drawThings(
    stage,
    arrange(stage, seasonal(idea), { edge, water, isHighLeft }),
    !places.has('street') || light.time === 'day',
  )
  drawWeather(stage, sky)
}

/** The colour of leaves that was asked for, or that the season gives them. */
function foliage({ places, sky }: Idea, place: 'forest'): string | undefined {
  return (
    places.get(place) ?? (sky.has('autumn') ? '#d98a3a' : sky.has('spring') ? '#f0a8bf' : undefined)
  )
}

function seasonal(idea: Idea): Idea {
  const season = foliage(idea, 'forest')
  if (season === undefined) return idea
  const things = idea.things.map((thing) =>
    thing.name === 'tree' && thing.colour === undefined ? { ...thing, colour: season } : thing,
  )
  return { ...idea, things }
}

/** Draws things at their places, in the light of the picture. */
export function drawThings(
  { light, chance, shapes }: Stage,
  placements: readonly Placement[],
  hasShadows: boolean,
): void {
  for (const { name, colour, x, y, size, distance, flip } of placements) {
    const { home } = kinds[name]
    if (hasShadows && home === 'ground' && name !== 'umbrella') {
      shapes.push(ellipse(x, y, [size * 0.36, size * 0.045], '#0d1024', { opacity: 0.2 }))
    }
    const pen = penFor(light, { colour, distance: distance * 0.5, chance })
    shapes.push(placed(drawings[name](pen), { x, y, scale: size / 100, flip }))
  }
}
