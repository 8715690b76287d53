import { clients } from './clients.ts'
import type { Connection } from './connect.ts'

/** What was found, as a person reads it. */
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
    ...(faults.length === 0
      ? ['Nothing was found that would break a client.']
      : ['What would break:']),
    ...faults.flatMap(({ text, remedy, whom }, at) => {
      const same = faults.findIndex((one) => one.remedy === remedy)
      return [
        '',
        `${at + 1}. ${text} (${whomText(whom)})`,
        same < at ? `   As for ${same + 1}.` : `   ${remedy}`,
      ]
    }),
    ...(notes.length === 0 ? [] : ['', 'To be known:', ...notes.map((note) => `  - ${note}`)]),
  ]
  return `${lines.join('\n')}\n`
}
