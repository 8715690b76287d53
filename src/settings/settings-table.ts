import { settings } from '../../generated/settings.ts'
import { vendors } from '../providers/index.ts'

type Setting = (typeof settings)[number]

const tableHead =
  '| Setting | `gateway.yaml` | Default | Applied by | What it is |\n|---|---|---|---|---|\n'
const configFileRow =
  '| `CONFIG_FILE` |  |  | restart | Path of `gateway.yaml`. By default, no file is read. |'

/** The settings as Markdown tables, one per group, for docs/settings.md. */
export function settingsTable(): string {
  const rowOf = ({ name, variable, standard, needsRestart, description }: Setting) => {
    const plain = typeof standard === 'string' || typeof standard === 'number'
    const text = plain ? `\`${standard}\`` : ''
    const variableText = variable === null ? '' : `\`${variable}\``
    const applied = needsRestart ? 'restart' : 'reload'
    return `| ${variableText} | \`${name}\` | ${text} | ${applied} | ${description ?? ''} |`
  }
  const groups = [...Map.groupBy(settings, ({ group }) => group)].map(([group, members], index) => {
    const rows = [...members.map(rowOf), ...(index === 0 ? [configFileRow] : [])]
    return `## ${group}\n\n${tableHead}${rows.join('\n')}\n`
  })
  const keys = vendors.map(({ name, keyVariables, baseUrlVariable, baseUrl }) => {
    const keyNames = keyVariables.map((variable) => `\`${variable}\``).join(' or ')
    return `| ${name} | ${keyNames} | \`${baseUrlVariable}\` | \`${baseUrl}\` |`
  })
  const vendorHead = '## Vendors\n\n| Vendor | Key | Other address | Address |\n|---|---|---|---|\n'
  return `${groups.join('\n')}\n${vendorHead}${keys.join('\n')}\n`
}
