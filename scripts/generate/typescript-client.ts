import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import type { Document, Schema } from './document.ts'

/** The generated files of the TypeScript client (`sdk/typescript`) by path. */
export async function typescriptClient(document: Document): Promise<Record<string, string>> {
  const { paths, ...rest } = structuredClone(document)
  // Without MCP and OAuth, for which programs use libraries of these protocols.
  const own = Object.entries(paths).filter(([path]) => /^\/(?:v1|api)\//.test(path))
  for (const { responses } of own.flatMap(([, item]) => Object.values(item))) {
    // A job is the answer to the header `prefer` alone: it would be in the type of every answer with images. The
    // functions of sdk/typescript/src/create-image-job.ts send the header, and have its type.
    if ('200' in responses) delete responses['202']
    for (const response of Object.values(responses)) {
      const media = 'content' in response ? response.content?.['application/json'] : undefined
      // The other forms need a header that this client does not send.
      const forms = media?.schema['anyOf'] as Schema[] | undefined
      if (media !== undefined && forms !== undefined) media.schema = forms[0]!
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'typescript-client-'))
  try {
    await createClient({
      input: { ...rest, paths: Object.fromEntries(own) },
      output: { path: folder, importFileExtension: '.js' },
      logs: { level: 'silent', file: false },
    })
    const names = globSync('**/*.ts', { cwd: folder }).toSorted()
    return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
