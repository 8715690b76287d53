/**
 * `npm run generate`: writes `generated/` from openapi.yaml, its overlay and its workflows, mcp-tools.json,
 * settings.yaml and catalog.yaml, and the TypeScript client from openapi.yaml and its overlay.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'
import { parse } from 'yaml'
import { chatMembersFile } from './generate/chat-members.ts'
import { checkedSchema, checkFiles } from './generate/checks.ts'
import {
  banner,
  operationsOf,
  type Document,
  type OperationRow,
  type Schema,
} from './generate/document.ts'
import { fileSchemas } from './generate/file-schemas.ts'
import { operationsFile, scopesByRole } from './generate/operations.ts'
import type { Overlay } from './generate/overlay.ts'
import { ownDocument } from './generate/own-document.ts'
import { publishedFiles } from './generate/published.ts'
import { requestParametersFile } from './generate/request-parameters.ts'
import { schemaTypes } from './generate/schema-types.ts'
import { settingsFiles, type SettingsSchema } from './generate/settings.ts'
import { toolsFile, toolsOf, type ToolsDocument } from './generate/tools.ts'
import { typescriptClient } from './generate/typescript-client.ts'

const root = new URL('../', import.meta.url)

type Files = Record<string, string>

/** The text of each generated file, by folder and by path in the folder. */
export async function generate(): Promise<Record<string, Files>> {
  // Tests and linters check the sources; these types have the members that the generators read.
  const document = parse(read('openapi.yaml')) as Document
  const workflows = parse(read('workflows.arazzo.yaml')) as object
  const overlay = parse(read('openapi-3.2.overlay.yaml')) as Overlay
  const catalog = parse(read('catalog.yaml')) as Record<string, Schema>
  const tools = toolsOf(JSON.parse(read('mcp-tools.json')) as ToolsDocument, document)
  const settings = parse(read('settings.yaml')) as SettingsSchema
  const own = ownDocument(document, catalog)
  const operations = operationsOf(own)
  const files = {
    // Document has fewer members than the input type of openapiTS.
    'types.ts': banner + astToString(await openapiTS(own as never)),
    'client-values.ts': clientValues(document),
    'operations.ts': operationsFile(own, operations),
    'request-parameters.ts': requestParametersFile(document),
    'chat-members.ts': chatMembersFile(document),
    'tools.ts': toolsFile(tools),
    'tool-types.ts': await schemaTypes(
      Object.fromEntries(tools.map((tool) => [tool.name, checkedSchema(tool)])),
    ),
    ...checkFiles(own, operations, tools),
    ...(await settingsFiles(settings, own)),
    ...publishedFiles({ document, overlay, workflows, tools }),
    ...fileSchemas(settings, own),
    'routes.json': `${JSON.stringify(routesOf(own, operations))}\n`,
  }
  const client = await typescriptClient(document, overlay)
  return { generated: files, 'sdk/typescript/src/generated': client }
}

function read(name: string): string {
  return readFileSync(new URL(name, root), 'utf8')
}

/** The document with the name and the security of each operation alone, for openapi-backend. */
function routesOf(document: Document, rows: OperationRow[]): object {
  const paths: Document['paths'] = {}
  const { securitySchemes } = document.components
  for (const { id, path, method, operation } of rows) {
    const described = { operationId: id, security: operation.security, responses: {} }
    paths[path] = { ...paths[path], [method]: described }
  }
  return { ...document, paths, webhooks: {}, components: { securitySchemes } }
}

/** The values of enumerations, the lengths of texts and the scopes of roles, for the dashboard. */
function clientValues(document: Document): string {
  const lists = Object.entries(document.components.schemas).flatMap(([name, { enum: values }]) =>
    Array.isArray(values) && values.length > 1
      ? [`export const ${name}Values = ${JSON.stringify(values)} as const`]
      : [],
  )
  const scopes = `export const scopesByRole = ${JSON.stringify(scopesByRole(document))} as const`
  const lengths = Object.entries(document.components.schemas).flatMap(
    ([name, { minLength: min = 0, maxLength: max }]) =>
      max === undefined ? [] : [[name, { min, max }]],
  )
  const texts = `export const textLengths = ${JSON.stringify(Object.fromEntries(lengths))} as const`
  return `${banner}${[...lists, texts, scopes].join('\n')}\n`
}

if (import.meta.main) {
  for (const [folder, files] of Object.entries(await generate())) {
    for (const [name, text] of Object.entries(files)) {
      const path = fileURLToPath(new URL(`${folder}/${name}`, root))
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }
}
