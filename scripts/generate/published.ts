import { stringify } from 'yaml'
import type { Document } from './document.ts'
import { namedExamples } from './named-examples.ts'
import { openAnswers } from './open-answers.ts'
import { applyOverlay, type Overlay } from './overlay.ts'
import { partNames, partOf } from './parts.ts'
import type { Tool } from './tools.ts'

type Sources = { document: Document; overlay: Overlay; workflows: object; tools: Tool[] }

/** The documents that the gateway serves, by file name: the contract whole and in parts, its workflows, and the tools. */
export function publishedFiles({
  document: source,
  overlay,
  workflows,
  tools,
}: Sources): Record<string, string> {
  const document = publishedForm(source)
  const next = applyOverlay(document, overlay)
  const parts = partNames.flatMap((name) =>
    Object.entries(forms(partOf(document, name), partOf(next, name))).map(
      ([file, text]) => [`parts/${name}/${file}`, text] as const,
    ),
  )
  return {
    ...forms(document, next),
    ...Object.fromEntries(parts),
    'workflows.arazzo.yaml': asYaml(workflows),
    'mcp-tools.json': asJson(withoutExtensions({ tools })),
  }
}

/** The contract as the gateway serves it. */
export function publishedForm<T extends Document>(source: T): T {
  return namedExamples(openAnswers(source))
}

function forms(document: Document, next: Document): Record<string, string> {
  return {
    'openapi.json': asJson(document),
    'openapi.yaml': asYaml(document),
    'openapi-3.2.json': asJson(next),
  }
}

/** A published document as JSON. */
export function asJson(document: unknown): string {
  return `${JSON.stringify(document)}\n`
}

/**
 * The document as YAML without anchors, whose texts mean the same in YAML 1.1 and 1.2. Parsers on the JVM refuse more
 * than 50 aliases (SnakeYAML, `maxAliasesForCollections`).
 */
function asYaml(document: object): string {
  return stringify(document, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 })
}

/** The value without members `x-…`, which strict validators refuse in a schema. */
export function withoutExtensions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutExtensions)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => !name.startsWith('x-'))
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutExtensions(inner)]))
}
