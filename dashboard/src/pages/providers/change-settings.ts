import type { Document } from 'yaml'
import { bodyOf, GET, PUT } from '../../data/api.ts'
import { loadPart } from '../../data/version.ts'

/** An OpenAI-compatible server in the stored settings. */
export type Server = { id: string; base_url: string; models: string | readonly string[] }
/** The entries of the stored settings that have a form. */
export type Entries = {
  providers?: readonly Server[] | null
  routes?: Readonly<Record<string, readonly string[]>> | null
  aliases?: Readonly<Record<string, string>> | null
}
export type Path = readonly [member: keyof Entries, ...rest: (string | number)[]]

const loadYaml = () => loadPart(() => import('yaml'))

/** The stored settings, with their entries. Throws a Refusal. */
export async function readSettings(signal: AbortSignal) {
  const asked = bodyOf(GET('/api/settings', { signal }))
  const [{ parse }, settings] = await Promise.all([loadYaml(), asked])
  return { ...settings, entries: (parse(settings.content) ?? {}) as Entries }
}

/**
 * Sets values in the settings that are stored now; undefined removes an entry. Comments and all other entries
 * stay as they are written. Throws a Refusal.
 */
export async function changeSettings(
  changesOf: (entries: Entries) => readonly (readonly [Path, unknown])[],
): Promise<void> {
  const { isCollection, parseDocument } = await loadYaml()
  const { content: stored } = await bodyOf(GET('/api/settings'))
  const document = parseDocument(stored)
  for (const [path, value] of changesOf((document.toJS() ?? {}) as Entries)) {
    const [member] = path
    // A member without a value cannot take entries.
    const isPlain = document.has(member) && !isCollection(document.get(member, true))
    if (isPlain) document.delete(member)
    setIn(document, path, value)
    const rest = document.get(member, true)
    if (isCollection(rest) && rest.items.length === 0) document.delete(member)
  }
  const text = document.toString({ lineWidth: 0 })
  await bodyOf(PUT('/api/settings', { body: { content: text === '{}\n' ? '' : text } }))
}

function setIn(document: Document, path: Path, value: unknown): void {
  if (value === undefined) document.deleteIn(path)
  // An equal value stays as it is written, with its comments.
  else if (JSON.stringify(plain(document.getIn(path))) !== JSON.stringify(value))
    document.setIn(path, typeof value === 'string' ? value : document.createNode(value))
}

function plain(node: unknown): unknown {
  return node instanceof Object && 'toJSON' in node
    ? (node as { toJSON(): unknown }).toJSON()
    : node
}
