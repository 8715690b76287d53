import { serviceLinks } from './documents.ts'
import type { StaticFile } from './static-file.ts'

const swaggerUi = new URL('../../third-party/swagger-ui/', import.meta.url)

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Model-Access Gateway: API reference</title>
<link rel="icon" type="image/svg+xml" href="/favicon.ico">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/reference.js"></script>
</body>
</html>
`
const pageHeaders = {
  // Swagger UI writes inline styles; everything else comes from this server.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  link: serviceLinks,
}

/** The page of the API reference and its files, by path; it loads nothing from other origins. */
export const referenceFiles: Readonly<Record<string, StaticFile>> = {
  '/docs': { type: 'text/html; charset=utf-8', content: page, headers: pageHeaders },
  '/docs/reference.js': {
    type: 'text/javascript; charset=utf-8',
    content: new URL('reference.js', import.meta.url),
  },
  '/docs/reference.css': {
    type: 'text/css; charset=utf-8',
    content: new URL('reference.css', import.meta.url),
  },
  '/docs/swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    content: new URL('swagger-ui-bundle.js', swaggerUi),
  },
  '/docs/swagger-ui.css': {
    type: 'text/css; charset=utf-8',
    content: new URL('swagger-ui.css', swaggerUi),
  },
}
