import { times } from './json-bodies.ts'

export const boundary = '----WebKitFormBoundaryaBcDeF0123456789'

const prompt = part('name="prompt"', 'a fox')
const file = 'name="image"; filename="a.png"'
const end = `--${boundary}--\r\n`

/** Forms of about this many bytes that are slow to parse, by name. */
export const forms: Readonly<Record<string, (bytes: number) => string>> = {
  parts: (bytes) => prompt + times(part('name="user"', 'a'), bytes) + end,
  'parts of different names': (bytes) => {
    const names = Array.from({ length: bytes / 110 }, (_, at) => `name="f${at}"`)
    return prompt + names.map((name) => part(name, 'a')).join('') + end
  },
  'empty files': (bytes) => prompt + times(part(file, ''), bytes) + end,
  'parts without a name': (bytes) => times(part('x="a"', 'a'), bytes) + end,
  'parts without a head': (bytes) => times(`--${boundary}\r\n\r\n\r\n`, bytes) + end,
  boundaries: (bytes) => times(`--${boundary}\r\n`, bytes) + end,
  'a long name': (bytes) => part(`name="${'a'.repeat(bytes)}"`, 'a') + end,
  'a name in brackets': (bytes) => part(`name="image${'[]'.repeat(bytes / 2)}"`, 'a') + end,
  'a long file name': (bytes) => part(`${file.slice(0, -1)}${'a'.repeat(bytes)}"`, 'a') + end,
  'parameters of a part': (bytes) => part(`name="a"${times('; a=b', bytes)}`, 'a') + end,
  'headers of a part': (bytes) =>
    `--${boundary}\r\n${times('x-a: b\r\n', bytes)}\r\n\r\na\r\n${end}`,
  'a header without an end': (bytes) => `--${boundary}\r\nx-a: ${'a'.repeat(bytes)}`,
  'a long text': (bytes) => prompt + part('name="user"', 'a'.repeat(bytes)) + end,
  'a long prompt': (bytes) => part('name="prompt"', '语'.repeat(bytes / 3)) + end,
  'a long number': (bytes) => prompt + part('name="n"', '9'.repeat(bytes)) + end,
  'a text before the first part': (bytes) => `${'a'.repeat(bytes)}\r\n${prompt}${end}`,
  'a text after the last part': (bytes) => prompt + end + 'a'.repeat(bytes),
  'no boundary': (bytes) => 'a'.repeat(bytes),
  'almost boundaries': (bytes) =>
    prompt + part(file, times(`\r\n--${boundary.slice(0, -1)}`, bytes)) + end,
  'line breaks': (bytes) => prompt + part(file, '\r\n'.repeat(bytes / 2)) + end,
  hyphens: (bytes) => prompt + part(file, '-'.repeat(bytes)) + end,
  'a file that is no picture': (bytes) => prompt + part(file, 'a'.repeat(bytes)) + end,
  'a file without an end': (bytes) =>
    prompt + part(file, 'a'.repeat(bytes)).slice(0, -boundary.length),
}

function part(disposition: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`
}
