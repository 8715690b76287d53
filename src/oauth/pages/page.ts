import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Answer } from '../../http/answer.ts'
import { markup, styleElement, textOf, type Html } from './html.ts'

/** The style sheet of all pages with forms, and the rules for these pages. */
const style = ['../../pages/card.css', 'page.css']
  .map((file) => readFileSync(new URL(file, import.meta.url), 'utf8'))
  .join('')
const styleHash = createHash('sha256').update(style).digest('base64')

/**
 * Forbid scripts, frames, forms to other sites and cached copies. `cross-origin-opener-policy` is missing
 * on purpose: clients that open the page in a popup wait for its result.
 */
const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; ` +
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // With `no-referrer` browsers would send forms with the origin `null`.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
}

export type Page = {
  title: string
  content: Html
  status?: number
  /** A path of the gateway to which the browser continues automatically. */
  next?: string
  headers?: Record<string, string>
}

/** A page as an answer. */
export function pageAnswer({ title, content, status = 200, next, headers }: Page): Answer {
  const onward =
    next === undefined ? undefined : markup`<meta http-equiv="refresh" content="0; url=${next}">\n`
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Model-Access Gateway</title>
<link rel="icon" type="image/svg+xml" href="/favicon.ico">
${onward}${styleElement(style)}
</head>
<body>
<main>
<p class="product"><svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><rect width="24" height="24" rx="6"/><path d="M6 18.5v-7a6 6 0 0 1 12 0v7M12 18.5v-6"/></svg>
Model-Access Gateway</p>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`
  return { status, headers: { ...pageHeaders, ...headers }, pieces: [textOf(page)] }
}
