import type { ThingName } from '../words.ts'
import { animals } from './animals.ts'
import { buildings } from './buildings.ts'
import { objects } from './objects.ts'
import type { Drawing } from './pen.ts'
import { people } from './people.ts'
import { plants } from './plants.ts'
import { swimmersAndBirds } from './swimmers-and-birds.ts'
import { vehicles } from './vehicles.ts'

/** How each thing is drawn. */
export const drawings: Readonly<Record<ThingName, Drawing>> = {
  ...buildings,
  ...plants,
  ...animals,
  ...swimmersAndBirds,
  ...people,
  ...vehicles,
  ...objects,
}

/** Where a thing is at home. */
export type Home = 'ground' | 'water' | 'air' | 'table'
type Kind = {
  home: Home
  /** Its height as a share of the picture's shorter side, in front. */
  size: number
  /** How far back it stands: 0 in front, 1 at the horizon. */
  depth: number
  /** How many there are when their number is not told. */
  several: number
}

const building: Kind = { home: 'ground', size: 0.5, depth: 0.45, several: 3 }
const plant: Kind = { home: 'ground', size: 0.5, depth: 0.4, several: 5 }
const animal: Kind = { home: 'ground', size: 0.34, depth: 0.12, several: 3 }
const upright: Kind = { home: 'ground', size: 0.36, depth: 0.14, several: 3 }
const flyer: Kind = { home: 'air', size: 0.2, depth: 0, several: 3 }
const swimmer: Kind = { home: 'water', size: 0.24, depth: 0.4, several: 3 }
const object: Kind = { home: 'table', size: 0.3, depth: 0.15, several: 3 }

export const kinds: Readonly<Record<ThingName, Kind>> = {
  house: building,
  castle: { ...building, size: 0.66 },
  lighthouse: { ...building, size: 0.8, depth: 0.35 },
  tower: { ...building, size: 0.66 },
  church: { ...building, size: 0.58 },
  windmill: { ...building, size: 0.6 },
  tent: { ...building, size: 0.36, depth: 0.3 },
  tree: plant,
  cherry: plant,
  pine: plant,
  palm: { ...plant, several: 3 },
  flower: { ...plant, size: 0.24, depth: 0.02, several: 9 },
  cactus: { ...plant, size: 0.38, depth: 0.2, several: 4 },
  mushroom: { ...plant, size: 0.24, depth: 0.06 },
  bush: { ...plant, size: 0.3, depth: 0.3 },
  cat: animal,
  dog: animal,
  fox: animal,
  horse: { ...animal, size: 0.44, depth: 0.2 },
  deer: { ...animal, size: 0.42, depth: 0.2 },
  rabbit: { ...animal, size: 0.26 },
  bear: { ...animal, size: 0.38 },
  elephant: { ...animal, size: 0.5, depth: 0.2 },
  sheep: { ...animal, size: 0.3, several: 5 },
  cow: { ...animal, size: 0.38, depth: 0.18 },
  penguin: { ...animal, size: 0.3, several: 4 },
  bird: { ...animal, size: 0.2, depth: 0.05, several: 4 },
  duck: { ...swimmer, size: 0.18, depth: 0.3 },
  fish: { ...swimmer, size: 0.22, several: 5 },
  whale: { ...swimmer, size: 0.4 },
  otter: { ...swimmer, size: 0.34 },
  butterfly: { ...flyer, size: 0.13, several: 5 },
  person: upright,
  woman: upright,
  child: { ...upright, size: 0.27 },
  astronaut: upright,
  robot: upright,
  snowman: { ...upright, size: 0.38 },
  car: { ...animal, size: 0.42, depth: 0.1, several: 2 },
  bus: { ...animal, size: 0.5, depth: 0.2, several: 2 },
  bicycle: { ...animal, size: 0.36, several: 2 },
  boat: { ...swimmer, size: 0.36, depth: 0.3 },
  dragon: { ...flyer, size: 0.44, several: 2 },
  balloon: { ...flyer, size: 0.32 },
  plane: { ...flyer, size: 0.26, several: 2 },
  rocket: { ...flyer, size: 0.44, several: 2 },
  kite: { ...flyer, size: 0.24 },
  apple: object,
  orange: { ...object, size: 0.27 },
  pear: { ...object, size: 0.33 },
  banana: object,
  cake: { ...object, size: 0.4, several: 2 },
  cup: object,
  book: { ...object, size: 0.34, several: 2 },
  vase: { ...object, size: 0.46, several: 2 },
  candle: { ...object, size: 0.36 },
  bottle: { ...object, size: 0.46 },
  heart: { ...flyer, size: 0.3 },
  umbrella: { ...upright, size: 0.34 },
}
