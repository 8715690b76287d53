import type { ComponentChildren } from 'preact'
import type { Address } from '../../data/address.ts'
import { addressOf } from '../../data/place.ts'
import { mayAdminister } from '../../data/session.ts'
import {
  claudeCode,
  codeFile,
  codeLink,
  cursorFile,
  cursorLink,
  startedProgram,
} from '../../data/snippets.ts'
import { Snippet } from '../../elements/copy.tsx'

/** What a key is called until somebody puts theirs in. */
const ownKey = 'YOUR_KEY'

/** Each client in its own words (docs/connect.md#add-it-to-a-client). */
export function Clients({ address }: { address: Address }) {
  const { tools, isHttps, isPublic } = address
  return (
    <section>
      <h2>Add it to a client</h2>
      <div class="halves clients">
        <Hosted isReachable={isHttps && isPublic} />
        <Local tools={tools} />
      </div>
    </section>
  )
}

/** They come from the networks of their makers. */
function Hosted({ isReachable }: { isReachable: boolean }) {
  return (
    <>
      <Client title="Claude" detail="Web, Desktop, mobile" isReachable={isReachable}>
        <ol>
          <li>Open Settings, then Connectors.</li>
          <li>Choose “Add custom connector”.</li>
          <li>Paste the address. The advanced settings stay empty.</li>
          <li>Connect, and sign in on the page that opens.</li>
        </ol>
        <p class="hint">It takes no API key.</p>
      </Client>
      <Client title="ChatGPT" detail="Web, with developer mode" isReachable={isReachable}>
        <ol>
          <li>Open Settings, then Connectors (or Apps), Advanced, and switch on Developer mode.</li>
          <li>Choose “Create”, and paste the address as the URL of the server.</li>
          <li>Choose OAuth for authentication, and sign in on the page that opens.</li>
        </ol>
        <p class="hint">
          It takes no API key. In a workspace an administrator allows developer mode first.
        </p>
      </Client>
    </>
  )
}

/** They come from the machine that they run on. */
function Local({ tools }: { tools: string }) {
  const withKey = { tools, key: ownKey }
  return (
    <>
      <Client title="Cursor">
        <p>
          <a class="button" href={cursorLink({ tools })}>
            Add to Cursor
          </a>
        </p>
        <p>
          Then press Connect in its settings, and sign in. Or write it into{' '}
          <code>~/.cursor/mcp.json</code>:
        </p>
        <Snippet text={cursorFile({ tools })} what="the file of Cursor" />
        <WithKey>
          <Snippet text={cursorFile(withKey)} what="the file of Cursor with a key" />
        </WithKey>
      </Client>
      <Client title="VS Code">
        <p>
          <a class="button" href={codeLink({ tools })}>
            Add to VS Code
          </a>
        </p>
        <p>
          Then start the server there, and sign in. Or run “MCP: Add Server”, or write it into{' '}
          <code>.vscode/mcp.json</code>:
        </p>
        <Snippet text={codeFile({ tools })} what="the file of VS Code" />
        <WithKey>
          <Snippet text={codeFile(withKey)} what="the file of VS Code with a key" />
          <p class="hint">VS Code asks for the key when it starts the server.</p>
        </WithKey>
      </Client>
      <Client title="Claude Code">
        <p>
          Run this line, then type <code>/mcp</code> in Claude Code to sign in:
        </p>
        <Snippet text={claudeCode({ tools })} what="the line of Claude Code" />
        <WithKey>
          <Snippet text={claudeCode(withKey)} what="the line of Claude Code with a key" />
        </WithKey>
      </Client>
      <Client title="Anything that starts programs only">
        <p>
          Through <code>mcp-remote</code>, as in the <code>claude_desktop_config.json</code> of
          Claude Desktop; it opens the page for signing in:
        </p>
        <Snippet text={startedProgram({ tools })} what="the configuration" />
        <WithKey>
          <Snippet text={startedProgram(withKey)} what="the configuration with a key" />
        </WithKey>
      </Client>
    </>
  )
}

type ClientProps = {
  title: string
  detail?: string
  isReachable?: boolean
  children: ComponentChildren
}

function Client({ title, detail, isReachable = true, children }: ClientProps) {
  return (
    <section class="card client">
      <h3>
        {title} {detail !== undefined && <span class="quiet">{detail}</span>}
      </h3>
      {!isReachable && (
        <p class="state warn">Comes from the internet, and cannot reach this address</p>
      )}
      {children}
    </section>
  )
}

/** For machines without a browser. */
function WithKey({ children }: { children: ComponentChildren }) {
  return (
    <details>
      <summary>Without a browser, with an API key</summary>
      <p>
        Put a key in the place of <code>{ownKey}</code>
        {mayAdminister.value ? (
          <>
            ; <a href={addressOf('/keys/new')}>create one</a> shows these lines with it.
          </>
        ) : (
          '; the administrators of the account make one for you.'
        )}
      </p>
      {children}
    </details>
  )
}
