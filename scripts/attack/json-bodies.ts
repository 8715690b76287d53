/** Makes the text of a JSON value of about this many bytes that is slow to parse. */
type Filling = (bytes: number) => string

/** An array that repeats an item as often as the size allows. */
const listOf =
  (text: string): Filling =>
  (bytes) =>
    `[${times(text, bytes, ',')}]`

/** An object with as many keys as the size allows, unsorted. */
const keys =
  (value: string, name = (at: number) => `k${mixed(at)}`): Filling =>
  (bytes) => {
    const count = Math.floor(bytes / (value.length + 12))
    const members = Array.from({ length: count }, (_, at) => `"${name(at)}":${value}`)
    return `{${members.join(',')}}`
  }

/** A string that repeats characters as often as the size allows. */
const textOf =
  (text: string): Filling =>
  (bytes) =>
    `"${times(text, bytes)}"`

/** JSON values that are slow to parse anywhere in a body, by name. */
export const fillings: Readonly<Record<string, Filling>> = {
  brackets: (bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'open brackets': (bytes) => '['.repeat(bytes),
  'closing brackets': (bytes) => ']'.repeat(bytes),
  braces: (bytes) => `${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`,
  'open braces': (bytes) => '{"a":'.repeat(bytes / 5),
  numbers: listOf('0'),
  'empty lists': listOf('[]'),
  'empty objects': listOf('{}'),
  'small objects': listOf('{"a":1}'),
  'objects of different keys': (bytes) =>
    `[${Array.from({ length: bytes / 13 }, (_, at) => `{"${mixed(at)}":1}`).join(',')}]`,
  'short texts': listOf('"a"'),
  commas: (bytes) => `[${','.repeat(bytes)}]`,
  'a list without an end': (bytes) => `[${times('0', bytes, ',')}`,
  keys: keys('0'),
  'keys of objects': keys('{}'),
  'numbers for keys': keys('0', (at) => String(mixed(at))),
  'one key again and again': keys('0', () => 'a'),
  prototypes: keys('{}', () => '__proto__'),
  'nested objects': (bytes) =>
    `[${times(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`, bytes, ',')}]`,
  'a text': textOf('a'),
  'a text in another script': textOf('语'),
  'a text of pairs': textOf('😀'),
  'a text of halves': textOf('\\ud800'),
  'a text of zeros': textOf('\\u0000'),
  'escaped quotes': textOf('\\"'),
  backslashes: textOf('\\\\'),
  'line breaks': textOf('\\n'),
  'a text without an end': (bytes) => `"${'a'.repeat(bytes)}`,
  'quotes without an end': (bytes) => `"${'\\"'.repeat(bytes / 2)}`,
  'a wrong escape': (bytes) => `"${'\\n'.repeat(bytes / 2)}\\x"`,
  'one number': (bytes) => '9'.repeat(bytes),
  'one small number': (bytes) => `0.${'0'.repeat(bytes)}1`,
  'long numbers': listOf('9'.repeat(1_000_000)),
  'great numbers': listOf('1e400'),
  'spaces within': (bytes) => `[${' '.repeat(bytes)}]`,
  'a space for each value': listOf(' \n0'),
  'a data URL': (bytes) => `"data:image/png;base64,${'A'.repeat(bytes)}"`,
  'data URLs without data': listOf('"data:image/png;base64,"'),
  'semicolons for a data URL': (bytes) => `"data:${';a'.repeat(bytes / 2)}"`,
  'spaces for a text': textOf(' '),
}

/** A number that differs for each index; the numbers of consecutive indexes are unsorted. */
function mixed(at: number): number {
  return (at * 2_654_435_761) % 4_294_967_296
}

/** Repeats a text as often as it fits into this many bytes. */
export function times(text: string, bytes: number, between = ''): string {
  const one = text + between
  const count = Math.max(1, Math.floor(bytes / Buffer.byteLength(one)))
  return one.repeat(count - 1) + text
}
