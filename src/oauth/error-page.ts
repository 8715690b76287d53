import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'

/**
 * Shows an error that may not be told to the client's address, because that is not proved: a page
 * for people, the words of RFC 6749 for programs. It leads nowhere.
 */
export async function showError(context: KoaContextWithOIDC, out: ErrorOut): Promise<void> {
  context.set('cache-control', 'no-store')
  context.set('x-content-type-options', 'nosniff')
  if (context.accepts('json', 'html') !== 'html') {
    context.body = out
    return
  }
  context.type = 'html'
  context.set(
    'content-security-policy',
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  context.set('referrer-policy', 'no-referrer')
  context.body = pageOf(out)
}

function pageOf({ error, error_description: description }: ErrorOut): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>The connection failed: Model-Access Gateway</title>
</head>
<body>
<main>
<h1>The connection failed</h1>
<p>The program that sent you here asked for something that cannot be given. Go back to it and connect again.</p>
<p><code>${escaped(error)}</code>: ${escaped(description ?? 'no reason is known')}</p>
</main>
</body>
</html>
`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => entities[sign]!)
}
