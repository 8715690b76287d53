import { operations } from '../../generated/operations.ts'
import type { StaticFile } from './static-file.ts'

type Operation = (typeof operations)[number]['id']
type Page = {
  title: string
  introduction: string
  /** What is filled in, besides the password. */
  fields: string
  passwordHint: string
  submit: string
  /** What the form is sent to. */
  send: Operation
  /** Where who is signed in already is told of, for a page that they may use. */
  session?: Operation
  next: string
}

const folder = new URL('one-time-link/', import.meta.url)
const pageHeaders = {
  // The token is in the address: nothing keeps the page, and no other address is told of this one.
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
}

const emailField = `<div class="field">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="email" required>
</div>`

function nameField(hint: string, attributes: string): string {
  return `<div class="field">
<label for="name">Name</label>
<input id="name" name="name" autocomplete="name"${attributes}>${hint}
</div>`
}

const signedIn = `<p id="signed-in" hidden>You are signed in as <strong id="signed-in-as"></strong>.
<button class="plain" id="sign-out" type="button">Sign out</button></p>
`

const newPassword = 'At least 8 characters of any kind. A sentence of yours is good.'
const keyCommand =
  '<pre><code>npm run -s gateway -- keys create --mode test --name mine</code></pre>'

const setUp = htmlOf({
  title: 'Set up the gateway',
  introduction: 'You become its owner. This link works once.',
  fields: `${emailField}\n${nameField('', ' required')}`,
  passwordHint: newPassword,
  submit: 'Become the owner',
  send: 'setUp',
  next: `<p>Programs call with a key. Make one where the gateway runs:</p>
${keyCommand}`,
})

const invitation = htmlOf({
  title: 'Accept the invitation',
  introduction: 'You join an account of the gateway, with the e-mail that is invited.',
  fields: nameField(
    '\n<p class="hint" id="name-hint">Not needed if you have a password here already.</p>',
    ' aria-describedby="name-hint"',
  ),
  passwordHint: `The one you have here, or a new one. ${newPassword}`,
  submit: 'Join',
  send: 'acceptInvitation',
  session: 'retrieveCurrentSession',
  next: `<p>Programs call with a key. Who runs the gateway makes one for you:</p>
${keyCommand}`,
})

/**
 * The pages that one-time links lead to, and their files, by path. The server reads nothing of an
 * address but its path; the token is the script's alone.
 */
export const oneTimeLinkFiles: Readonly<Record<string, StaticFile>> = {
  '/dashboard/setup': setUp,
  '/dashboard/invitations': invitation,
  '/dashboard/one-time-link.js': {
    type: 'text/javascript; charset=utf-8',
    content: new URL('page.js', folder),
  },
  '/dashboard/card.css': {
    type: 'text/css; charset=utf-8',
    content: new URL('card.css', import.meta.url),
  },
}

function htmlOf(page: Page): StaticFile {
  const session = page.session === undefined ? '' : ` data-session="${pathOf(page.session)}"`
  const content = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}: Model-Access Gateway</title>
<link rel="icon" href="/favicon.ico">
<link rel="stylesheet" href="/dashboard/card.css">
<script type="module" src="/dashboard/one-time-link.js"></script>
</head>
<body data-send="${pathOf(page.send)}"${session}>
<main>
<p class="product">Model-Access Gateway</p>
<section id="before">
<h1>${page.title}</h1>
<p>${page.introduction}</p>
<noscript><p class="alert">This page needs JavaScript.</p></noscript>
<p class="alert" id="alert" role="alert" tabindex="-1" hidden></p>
${page.session === undefined ? '' : signedIn}<form id="form" hidden>
${page.fields}
<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required
 aria-describedby="password-hint">
<p class="hint" id="password-hint">${page.passwordHint}</p>
</div>
<button id="send">${page.submit}</button>
</form>
</section>
<section id="after" hidden>
<h1 id="welcome" tabindex="-1">You are signed in</h1>
<p id="who"></p>
<h2>What comes next</h2>
${page.next}
<p>The <a href="/docs">API reference</a> says how to call. The dashboard itself comes later.</p>
</section>
</main>
</body>
</html>
`
  return { type: 'text/html; charset=utf-8', content, headers: pageHeaders }
}

function pathOf(id: Operation): string {
  return operations.find((operation) => operation.id === id)!.path
}
