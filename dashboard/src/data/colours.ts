/** What has a colour of its own on charts. */
type Kind = 'model' | 'key' | 'provider' | 'member' | 'tag'

/** Number of colours, those of the series beyond which get a pattern too. */
const colours = 7
const patterns = ['', ' striped', ' banded']
/** Number of names of a kind that a browser remembers; then the numbering starts again. */
const namesMax = 500
const stored = 'gateway_colours'

/** The class of a series without a name of its own, or of all other names. */
export const othersColour = 'series-7'

/** The class of a part of a sum that is not split by names. */
export function partColour(index: number): string {
  return `series-${index % colours}`
}

/**
 * The class of a model, key, provider, person or tag: the same on every chart and at every visit in this browser.
 * The first names that a chart shows, its largest, get plain colours.
 */
export function colourOf(kind: Kind, id: string): string {
  const known = read()
  const numbers = known[kind] ?? []
  const number = hashOf(id)
  let at = numbers.indexOf(number)
  if (at === -1) {
    at = numbers.length % namesMax
    localStorage.setItem(
      stored,
      JSON.stringify({ ...known, [kind]: [...numbers.slice(0, at), number] }),
    )
  }
  return partColour(at) + patterns[Math.floor(at / colours) % patterns.length]
}

function read(): Partial<Record<Kind, number[]>> {
  try {
    // Written by `colourOf` alone.
    return JSON.parse(localStorage.getItem(stored) ?? '{}') as Partial<Record<Kind, number[]>>
  } catch {
    return {}
  }
}

/** Stored in place of names and ids, which may be private and long (FNV-1a). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  return hash
}
