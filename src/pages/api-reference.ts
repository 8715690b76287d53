import { createRequire } from 'node:module'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GatewayError } from '../core/error.ts'
import type { Answer } from '../http/answer.ts'

const assets = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const files: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css'],
  ['swagger-ui-bundle.js', 'text/javascript'],
  ['favicon-32x32.png', 'image/png'],
])

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Model-Access Gateway: API reference</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
<main id="reference"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/reference.js"></script>
</body>
</html>
`
const script = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
})
`
/** What is wide scrolls in its own place, so that the page never does, on a phone either. */
const style = `body { margin: 0 }
.swagger-ui .opblock-body, .swagger-ui .table-container, .swagger-ui .renderedMarkdown,
.swagger-ui .model-box, .swagger-ui .json-schema-2020-12, .swagger-ui pre { overflow-x: auto }
.swagger-ui .responses-table .response-col_links { display: none }
.swagger-ui .responses-table .response-col_description { min-width: 0; width: 100% }
.swagger-ui table.headers td, .swagger-ui code { overflow-wrap: break-word }
.swagger-ui select, .swagger-ui input, .swagger-ui textarea { max-width: 100% }
@media (max-width: 600px) {
  .swagger-ui .wrapper { padding: 0 8px }
  .swagger-ui .parameters-col_name, .swagger-ui .parameters-col_description { display: block }
  .swagger-ui .parameters-col_name { min-width: 0; padding-bottom: 0 }
}
`
const securityHeaders = {
  // Swagger UI writes inline styles; everything else comes from this server.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** A file of the API reference, by default its page, which loads nothing from other servers. */
export async function referencePage(file: string | undefined): Promise<Answer> {
  if (file === undefined) return found('text/html; charset=utf-8', page)
  if (file === 'reference.js') return found('text/javascript', script)
  if (file === 'reference.css') return found('text/css', style)
  const type = files.get(file)
  if (type === undefined) throw new GatewayError('not_found', 'There is no such file here.')
  return found(type, await readFile(join(assets, file)))
}

function found(type: string, body: string | Buffer): Answer {
  return { status: 200, headers: { ...securityHeaders, 'content-type': type }, pieces: [body] }
}
