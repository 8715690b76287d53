import { clients } from './clients.ts'
import type { Connection } from './connect.ts'

/** The result of a check as text for the terminal. */
export function connectionText({ address, works, faults, notes }: Connection): string {
  const names = clients.map(({ name }) => name)
  const whomText = (whom: readonly string[]) =>
    whom.includes('all') || names.every((name) => whom.includes(name))
      ? 'all clients'
      : whom.join(', ')
  const lines = [
    address,
    ...works.flatMap(({ who, works: all }) => ['', who, ...all.map((one) => `  ok  ${one}`)]),
    '',
    ...(faults.length === 0 ? ['No fault was found.'] : ['Faults that break clients:']),
    ...faults.flatMap(({ text, remedy, whom }, at) => {
      const same = faults.findIndex((one) => one.remedy === remedy)
      return [
        '',
        `${at + 1}. ${text} (${whomText(whom)})`,
        same < at ? `   The remedy is the same as for ${same + 1}.` : `   ${remedy}`,
      ]
    }),
    ...(notes.length === 0 ? [] : ['', 'Notes:', ...notes.map((note) => `  - ${note}`)]),
  ]
  return `${lines.join('\n')}\n`
}
