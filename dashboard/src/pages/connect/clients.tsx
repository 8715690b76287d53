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

/** Placeholder for an API key. */
const ownKey = 'YOUR_KEY'

/** Instructions for each client, in the words of its own settings (docs/connect.md#add-it-to-a-client). */
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

/** Clients that connect from the servers of their vendors. */
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
          <li>Open Settings, then Connectors (or Apps), Advanced, and turn on Developer mode.</li>
          <li>Choose “Create”, and paste the address as the server URL.</li>
          <li>Choose OAuth for authentication, and sign in on the page that opens.</li>
        </ol>
        <p class="hint">
          It takes no API key. In a workspace, an administrator must first allow developer mode.
        </p>
      </Client>
    </>
  )
}

/** Clients that connect from the user's own machine. */
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
          Then press Connect in Cursor's settings, and sign in. Or add this to{' '}
          <code>~/.cursor/mcp.json</code>:
        </p>
        <Snippet text={cursorFile({ tools })} what="the configuration for Cursor" />
        <WithKey>
          <Snippet text={cursorFile(withKey)} what="the configuration for Cursor with a key" />
        </WithKey>
      </Client>
      <Client title="VS Code">
        <p>
          <a class="button" href={codeLink({ tools })}>
            Add to VS Code
          </a>
        </p>
        <p>
          Then start the server in VS Code, and sign in. Or run “MCP: Add Server”, or add this to{' '}
          <code>.vscode/mcp.json</code>:
        </p>
        <Snippet text={codeFile({ tools })} what="the configuration for VS Code" />
        <WithKey>
          <Snippet text={codeFile(withKey)} what="the configuration for VS Code with a key" />
          <p class="hint">VS Code asks for the key when it starts the server.</p>
        </WithKey>
      </Client>
      <Client title="Claude Code">
        <p>
          Run this command, then type <code>/mcp</code> in Claude Code to sign in:
        </p>
        <Snippet text={claudeCode({ tools })} what="the command for Claude Code" />
        <WithKey>
          <Snippet text={claudeCode(withKey)} what="the command for Claude Code with a key" />
        </WithKey>
      </Client>
      <Client title="Clients that only start local programs">
        <p>
          Use <code>mcp-remote</code>, for example in <code>claude_desktop_config.json</code> of
          Claude Desktop. It opens the sign-in page:
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
        <p class="state warn">
          This client connects from the internet and cannot reach this address
        </p>
      )}
      {children}
    </section>
  )
}

/** Configuration with an API key, for machines without a browser. */
function WithKey({ children }: { children: ComponentChildren }) {
  return (
    <details>
      <summary>Without a browser, with an API key</summary>
      <p>
        Replace <code>{ownKey}</code> with an API key
        {mayAdminister.value ? (
          <>
            . <a href={addressOf('/keys/new')}>Create a key</a> to get these lines with the key
            filled in.
          </>
        ) : (
          '. Administrators of the account create keys.'
        )}
      </p>
      {children}
    </details>
  )
}
