import {
  clothesWords,
  colourWords,
  numberWords,
  placeWords,
  sideWords,
  skyWords,
  styleWords,
  thingWords,
  type PlaceName,
  type Side,
  type SkyName,
  type StyleName,
  type ThingName,
} from './words.ts'

/** Something to draw: `count` is undefined for an unknown number of several. */
export type Thing = {
  name: ThingName
  colour: string | undefined
  count: number | undefined
  side: Side | undefined
}
/** What a prompt asks for; empty for one without a known word. */
export type Idea = {
  things: Thing[]
  places: Map<PlaceName, string | undefined>
  sky: Map<SkyName, string | undefined>
  styles: Set<StyleName>
}

type Meaning =
  | { kind: 'thing'; name: ThingName }
  | { kind: 'place'; name: PlaceName }
  | { kind: 'sky'; name: SkyName }
  | { kind: 'style'; name: StyleName }
  | { kind: 'colour'; name: string }
  | { kind: 'number'; name: number }
  | { kind: 'side'; name: Side }
  | { kind: 'clothes' }

const charactersMax = 4000
const thingsMax = 8
/** How many unknown words may stand between a colour and its noun. */
const gapMax = 2
const longestCompound = 4

const dictionary = new Map<string, Meaning>([
  ...entries(thingWords, (name) => ({ kind: 'thing', name })),
  ...entries(placeWords, (name) => ({ kind: 'place', name })),
  ...entries(skyWords, (name) => ({ kind: 'sky', name })),
  ...entries(styleWords, (name) => ({ kind: 'style', name })),
  ...entries(colourWords, (name) => ({ kind: 'colour', name })),
  ...entries(numberWords, (name) => ({ kind: 'number', name })),
  ...entries(sideWords, (name) => ({ kind: 'side', name })),
  ...entries(clothesWords, () => ({ kind: 'clothes' })),
])

function entries<Name extends string | number>(
  words: Readonly<Record<Name, string>>,
  meaning: (name: Name) => Meaning,
): [string, Meaning][] {
  // Object.keys knows no more than that they are strings.
  return (Object.keys(words) as `${Name}`[]).flatMap((name) =>
    words[name as Name].split(' ').map((word): [string, Meaning] => [word, meaning(name as Name)]),
  )
}

/** What was read so far, and what waits for the noun to come. */
type Reading = {
  idea: Idea
  colour: string | undefined
  count: number | undefined
  /** How many unknown words came since. */
  gap: number
  /** The noun just before, which a Romance colour or a compound changes. */
  last: Noun | undefined
}
type Noun = { recolour: (colour: string) => void; thing?: Thing; isAdjacent: boolean }

/** Reads what a prompt asks for; a colour or number counts for the noun that follows it. */
export function readPrompt(prompt: string): Idea {
  const idea: Idea = { things: [], places: new Map(), sky: new Map(), styles: new Set() }
  const text = prompt
    .slice(0, charactersMax)
    .toLowerCase()
    .replaceAll('black and white', 'grayscale')
  const reading: Reading = { idea, colour: undefined, count: undefined, gap: 0, last: undefined }
  for (const word of wordsOf(text)) {
    const found = lookUp(word)
    if (found === undefined) skip(reading)
    else take(reading, found)
  }
  return idea
}

function forget(reading: Reading): void {
  reading.colour = undefined
  reading.count = undefined
  reading.gap = 0
}

function skip(reading: Reading): void {
  if (reading.last !== undefined) reading.last.isAdjacent = false
  if (++reading.gap > gapMax) forget(reading)
}

function take(reading: Reading, { meaning, isPlural, base }: Found): void {
  const { idea, last } = reading
  switch (meaning.kind) {
    case 'colour':
      // In Romance languages the colour follows its noun.
      if (last?.isAdjacent === true && reading.colour === undefined && romance.has(base)) {
        return last.recolour(meaning.name)
      }
      reading.colour = meaning.name
      reading.gap = 0
      break
    case 'number':
      reading.count = meaning.name
      reading.gap = 0
      break
    case 'side': {
      const thing = idea.things.at(-1)
      if (thing !== undefined) thing.side = meaning.name
      break
    }
    case 'clothes': {
      const wearer = idea.things.at(-1)
      if (wearer !== undefined && reading.colour !== undefined) wearer.colour = reading.colour
      forget(reading)
      break
    }
    case 'thing':
      reading.last = addThing(reading, meaning.name, isPlural)
      return forget(reading)
    default:
      reading.last = add(idea, meaning, reading.colour)
      return forget(reading)
  }
  if (last !== undefined) last.isAdjacent = false
}

/** A noun right after another is its compound: a pine tree is a pine, a dog house a house. */
function addThing(
  { idea, colour, count, last }: Reading,
  name: ThingName,
  isPlural: boolean,
): Noun {
  const counted = isPlural && (count ?? 1) === 1 ? undefined : (count ?? 1)
  const before = last?.thing
  const isBare = colour === undefined && count === undefined
  const isSame = before?.name === name && isBare
  if (before !== undefined && (isSame || (last?.isAdjacent === true && isBare))) {
    const isKind = (name === 'tree' || name === 'flower') && kindsOfTree.has(before.name)
    if (!isSame && !isKind) before.name = name
    if (isPlural && before.count === 1) before.count = undefined
    return { recolour: (given) => (before.colour = given), thing: before, isAdjacent: true }
  }
  const thing: Thing = { name, colour, count: counted, side: undefined }
  if (idea.things.length < thingsMax) idea.things.push(thing)
  return { recolour: (given) => (thing.colour = given), thing, isAdjacent: true }
}

const kindsOfTree: ReadonlySet<ThingName> = new Set(['pine', 'palm', 'cherry'])

function add(
  idea: Idea,
  meaning: Extract<Meaning, { kind: 'place' | 'sky' | 'style' }>,
  colour: string | undefined,
): Noun | undefined {
  switch (meaning.kind) {
    case 'style':
      idea.styles.add(meaning.name)
      return undefined
    case 'place':
      idea.places.set(meaning.name, colour ?? idea.places.get(meaning.name))
      return { recolour: (given) => idea.places.set(meaning.name, given), isAdjacent: true }
    case 'sky':
      idea.sky.set(meaning.name, colour ?? idea.sky.get(meaning.name))
      return { recolour: (given) => idea.sky.set(meaning.name, given), isAdjacent: true }
  }
}

/** Words of letters, numbers, and in Chinese the longest known words. */
function wordsOf(text: string): string[] {
  const words =
    text.match(/\p{Script=Han}+|[\p{L}\p{M}]+(?:-[\p{L}\p{M}\d]+)*|\d+(?:-bit)?|[,.;:!?()\n]/gu) ??
    []
  return words.flatMap((word) => (/\p{Script=Han}/u.test(word) ? compoundsIn(word) : [word]))
}

function compoundsIn(run: string): string[] {
  const found: string[] = []
  for (let at = 0; at < run.length;) {
    let length = Math.min(longestCompound, run.length - at)
    while (length > 1 && !dictionary.has(run.slice(at, at + length))) length--
    // A counter such as 一只 or 的 is no word of its own and separates nothing.
    const word = run.slice(at, at + length)
    if (dictionary.has(word)) found.push(word)
    at += length
  }
  return found
}

type Found = { meaning: Meaning; isPlural: boolean; base: string }

function lookUp(word: string): Found | undefined {
  const exact = dictionary.get(word)
  if (exact !== undefined) return { meaning: exact, isPlural: plurals.has(word), base: word }
  for (const [ending, singular] of endings) {
    if (!word.endsWith(ending)) continue
    const base = word.slice(0, -ending.length) + singular
    const meaning = dictionary.get(base)
    if (meaning !== undefined) return { meaning, isPlural: true, base }
  }
  const [, tail] = word.split('-')
  return tail === undefined ? undefined : lookUp(tail)
}

const endings = [
  ['ies', 'y'],
  ['ves', 'f'],
  ['es', ''],
  ['s', ''],
] as const
const plurals = new Set(
  (
    'häuser bäume árboles blumen flores katzen hunde füchse foxes pferde chevaux vögel oiseaux ' +
    'peces fische fishes schafe kühe enten pinguine people men women männer children kinder ' +
    'village dorf dörfer pueblo boote äpfel oranges orangen birnen bananen books bücher butterflies bären wale pilze cacti'
  ).split(' '),
)
const romance = new Set(
  (
    'rouge rojo roja jaune amarillo amarilla doré dorado dorada vert verte verde bleu bleue azul ' +
    'morado morada violette rosa rose marron marrón noire noir negro negra blanc blanche blanco ' +
    'blanca gris'
  ).split(' '),
)
