/** Writes `generated/` from openapi.yaml, mcp-tools.json and settings.yaml: `npm run generate`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'
import { parse } from 'yaml'
import { checkFiles } from './generate/checks.ts'
import { banner, operationsOf, type Document, type Tool } from './generate/document.ts'
import { operationsFile } from './generate/operations.ts'
import { schemaTypes } from './generate/schema-types.ts'
import { settingsFiles, type SettingsSchema } from './generate/settings.ts'

const root = new URL('../', import.meta.url)

/** The text of every file of `generated/` by name, made from the sources on disk. */
export async function generate(): Promise<Record<string, string>> {
  // The tests and linters check the sources; these types name what the generators read of them.
  const document = parse(read('openapi.yaml')) as Document
  const tools = JSON.parse(read('mcp-tools.json')) as Tool[]
  const settings = parse(read('settings.yaml')) as SettingsSchema
  const operations = operationsOf(document)
  return {
    'types.ts': banner + astToString(await openapiTS(read('openapi.yaml'))),
    'operations.ts': operationsFile(document, operations),
    'tools.ts': toolsFile(tools),
    'tool-types.ts': await schemaTypes(
      Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema])),
    ),
    ...checkFiles(document, operations, tools),
    ...(await settingsFiles(settings)),
    'openapi.json': `${JSON.stringify(publicPart(document))}\n`,
  }
}

function read(name: string): string {
  return readFileSync(new URL(name, root), 'utf8')
}

function toolsFile(tools: Tool[]): string {
  return `${banner}
/** What \`tools/list\` answers: mcp-tools.json to the letter. */
export const tools = ${JSON.stringify(tools, null, 2)} as const

export type ToolName = (typeof tools)[number]['name']
`
}

/** The document without schemas that are marked internal, as the gateway publishes it. */
function publicPart(document: Document): Document {
  const schemas = Object.entries(document.components.schemas)
  return {
    ...document,
    components: {
      ...document.components,
      schemas: Object.fromEntries(schemas.filter(([, schema]) => !('x-internal' in schema))),
    },
  }
}

if (import.meta.main) {
  mkdirSync(new URL('generated/', root), { recursive: true })
  for (const [name, text] of Object.entries(await generate())) {
    writeFileSync(new URL(`generated/${name}`, root), text)
  }
}
