/** Objects that the sandbox draws, by their English words; plurals match. */
const thingWords = {
  house: 'house home cottage cabin hut barn farm',
  lighthouse: 'lighthouse',
  tree: 'tree oak maple pine fir birch',
  flower: 'flower rose tulip daisy poppy sunflower lily',
  cat: 'cat kitten',
  bird: 'bird gull seagull robin sparrow parrot',
  boat: 'boat sailboat ship yacht',
  fish: 'fish goldfish salmon',
}
const placeWords = {
  sea: 'sea ocean lake bay coast beach shore harbour harbor wave water',
  mountains: 'mountain alp peak hill volcano',
  town: 'town city village skyline street',
}
const timeWords = {
  day: 'day noon morning sun sunny sunshine',
  sunset: 'sunset sunrise dusk dawn evening twilight',
  night: 'night midnight moon moonlight star starry',
}
const colourWords = {
  '#d8413a': 'red scarlet crimson',
  '#ec8a35': 'orange',
  '#f2c53d': 'yellow gold golden',
  '#4f9a56': 'green',
  '#35a3a0': 'teal turquoise cyan',
  '#3f7fd0': 'blue',
  '#8558b8': 'purple violet lilac',
  '#ee8fb2': 'pink rose-coloured magenta',
  '#8a5a3c': 'brown',
  '#2e2e38': 'black dark',
  '#f5f2ea': 'white',
  '#9297a0': 'grey gray silver',
}
const countWords = {
  1: 'a an one single',
  2: 'two pair couple',
  3: 'three',
  4: 'four',
  5: 'five',
  6: 'six several many',
}

export type ThingName = keyof typeof thingWords
export type Time = keyof typeof timeWords

export type Thing = { name: ThingName; colour: string | undefined; count: number }

type Idea = {
  things: Thing[]
  places: Set<keyof typeof placeWords>
  time: Time | undefined
  /** Every colour that the prompt names, as `#rrggbb`. */
  colours: string[]
}

const thingOf = index(thingWords)
const placeOf = index(placeWords)
const timeOf = index(timeWords)
const colourOf = index(colourWords)
const countOf = index(countWords)

const charactersMax = 4000
const thingsMax = 6
const countMax = 9
/** The count of a plural without a number. */
const several = 3
/** How many other words may stand between a colour or number and its noun. */
const gapMax = 2
const endings = [
  ['ies', 'y'],
  ['ves', 'f'],
  ['es', ''],
  ['s', ''],
] as const

function index<Name extends string>(words: Record<Name, string>): ReadonlyMap<string, Name> {
  // `Object.keys` has the type string[], but the keys are of type Name.
  const names = Object.keys(words) as Name[]
  return new Map(names.flatMap((name) => words[name].split(' ').map((word) => [word, name])))
}

/** Reads a prompt; a colour or a number applies to a noun at most three words after it. */
export function readPrompt(prompt: string): Idea {
  const idea: Idea = { things: [], places: new Set(), time: undefined, colours: [] }
  let colour: string | undefined
  let count: number | undefined
  let gap = 0
  for (const word of prompt
    .slice(0, charactersMax)
    .toLowerCase()
    .match(/[a-z]+|\d+/g) ?? []) {
    const [base, isPlural] = singular(word)
    const thing = thingOf.get(base)
    const place = placeOf.get(base)
    if (colourOf.has(word)) {
      colour = colourOf.get(word)!
      idea.colours.push(colour)
      gap = 0
    } else if (countOf.has(word) || /^\d/.test(word)) {
      count = Number(countOf.get(word) ?? word)
      gap = 0
    } else if (thing !== undefined || place !== undefined) {
      if (place !== undefined) idea.places.add(place)
      else if (thing !== undefined && idea.things.length < thingsMax) {
        const number = isPlural && (count ?? 1) === 1 ? several : (count ?? 1)
        idea.things.push({ name: thing, colour, count: Math.min(countMax, Math.max(1, number)) })
      }
      colour = count = undefined
    } else if (timeOf.has(base)) {
      idea.time = timeOf.get(base)
    } else if (++gap > gapMax) {
      colour = count = undefined
    }
  }
  return idea
}

function singular(word: string): [base: string, isPlural: boolean] {
  const isKnown = (base: string) => [thingOf, placeOf, timeOf].some((words) => words.has(base))
  if (isKnown(word)) return [word, false]
  for (const [ending, one] of endings) {
    const base = word.slice(0, -ending.length) + one
    if (word.endsWith(ending) && isKnown(base)) return [base, true]
  }
  return [word, false]
}
