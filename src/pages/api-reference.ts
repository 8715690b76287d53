import type { StaticFile } from './static-file.ts'

const swaggerUi = new URL('../../third-party/swagger-ui/', import.meta.url)

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Model-Access Gateway: API reference</title>
<link rel="icon" href="/favicon.ico">
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
const script = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
})
`
/** Wide content scrolls within its own box, so that the page fits a phone. */
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
const pageHeaders = {
  // Swagger UI writes inline styles; everything else comes from this server.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}

/** The page of the API reference and its files, by path; it loads nothing from other origins. */
export const referenceFiles: Readonly<Record<string, StaticFile>> = {
  '/docs': { type: 'text/html; charset=utf-8', content: page, headers: pageHeaders },
  '/docs/reference.js': { type: 'text/javascript; charset=utf-8', content: script },
  '/docs/reference.css': { type: 'text/css; charset=utf-8', content: style },
  '/docs/swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    content: new URL('swagger-ui-bundle.js', swaggerUi),
  },
  '/docs/swagger-ui.css': {
    type: 'text/css; charset=utf-8',
    content: new URL('swagger-ui.css', swaggerUi),
  },
  '/favicon.ico': { type: 'image/png', content: new URL('favicon-32x32.png', swaggerUi) },
}
