import type { MarkedToken, Token, Tokens } from 'marked'
import { h, type ComponentChildren } from 'preact'
import { Snippet } from './copy.tsx'

/** The elements of parsed Markdown. The lexer has no extensions, and makes no other tokens. */
export const partsOf = (tokens: readonly Token[] = []) =>
  (tokens as readonly MarkedToken[]).map(partOf)

function partOf(token: MarkedToken, key: number): ComponentChildren {
  switch (token.type) {
    case 'paragraph':
      return <p key={key}>{partsOf(token.tokens)}</p>
    case 'strong':
    case 'em':
    case 'del':
    case 'blockquote':
      return h(token.type, { key }, partsOf(token.tokens))
    case 'heading':
      // Of one level, since levels that a text skips would be missing in the outline of the page.
      return <h3 key={key}>{partsOf(token.tokens)}</h3>
    case 'list':
      return h(
        token.ordered ? 'ol' : 'ul',
        { key, start: token.start || undefined },
        partsOf(token.items),
      )
    case 'list_item':
      return <li key={key}>{partsOf(token.tokens)}</li>
    case 'code':
      return <Snippet key={key} text={token.text} what="the code" />
    case 'codespan':
      return <code key={key}>{token.text}</code>
    case 'table':
      return <Cells key={key} {...token} />
    case 'link':
      return <Link key={key} href={token.href} of={partsOf(token.tokens)} />
    // The page loads nothing from elsewhere.
    case 'image':
      return <Link key={key} href={token.href} of={token.text || 'picture'} />
    case 'br':
    case 'hr':
      return h(token.type, { key })
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ '
    case 'text':
      return token.tokens === undefined ? decoded(token.text) : partsOf(token.tokens)
    case 'html':
      // Models use it for lines in cells of tables.
      if (/^<br ?\/?>$/i.test(token.text)) return <br key={key} />
      if (!token.block) return token.text
      return (
        <p key={key} class="verbatim">
          {token.text}
        </p>
      )
    case 'escape':
      return token.text
    default:
      return null
  }
}

/** A link, or its text if the address is not on the web. */
function Link({ href, of }: { href: string; of: ComponentChildren }) {
  const address = decoded(href)
  const isSafe = URL.canParse(address) && /^(?:https?|mailto):$/.test(new URL(address).protocol)
  if (!isSafe) return of
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer nofollow">
      {of}
    </a>
  )
}

function Cells({ header, rows }: Tokens.Table) {
  const row = (cells: readonly Tokens.TableCell[], key: number) => (
    <tr key={key}>
      {cells.map(({ tokens, header: isHeader }, at) =>
        h(isHeader ? 'th' : 'td', { key: at }, partsOf(tokens)),
      )}
    </tr>
  )
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>{row(header, 0)}</thead>
        <tbody>{rows.map(row)}</tbody>
      </table>
    </div>
  )
}

const references: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

/** Replaces the character references that models use. */
function decoded(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,6})|(\w{2,4}));/g, (whole, code: string, name: string) =>
    code === undefined ? (references[name] ?? whole) : String.fromCodePoint(Number(code)),
  )
}
