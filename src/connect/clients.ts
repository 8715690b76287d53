/** A client as data: its first requests, its registration, and its redirect address. */
export type Client = {
  name: string
  userAgent: string
  /** The requests of the client to the tool server before the sign-in. */
  opening: readonly Opening[]
  /** Where the client looks for resource metadata: the address in the challenge, the path, or the root. */
  looksAt: readonly ('announced' | 'path' | 'root')[]
  registration: Registration
  /** The `redirect_uri`; on loopback its port may differ from the registered port. */
  callback: string
  /** The parameter `scope` of the authorization request; undefined if the client sends none. */
  scope: string | undefined
  prompt?: string
  /** Whether the client can use the address of a published metadata document as its `client_id`. */
  hasDocument: boolean
  /** The metadata document, if all installations share one document. */
  document?: { url: string; callback: string }
}

type Opening = 'initialize' | 'discover' | 'stream'

type Registration = {
  client_name: string
  redirect_uris: readonly string[]
  [member: string]: unknown
}

const codeGrants = ['authorization_code', 'refresh_token']
const publicClient = {
  grant_types: codeGrants,
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}
// An example of the free port that a client picks on the user's machine.
const freePort = 51_763

/** The data of clients, observed or read in their source (docs/connect.md#what-each-client-needs). */
export const clients: readonly Client[] = [
  {
    name: 'Claude',
    hasDocument: true,
    userAgent: 'Claude-User',
    opening: ['discover', 'initialize', 'stream'],
    looksAt: ['announced', 'path'],
    registration: {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      ...publicClient,
      scope: 'claudeai',
    },
    callback: 'https://claude.ai/api/mcp/auth_callback',
    scope: 'mcp',
    document: {
      url: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
      callback: 'https://claude.ai/api/mcp/auth_callback',
    },
  },
  {
    name: 'Claude Code',
    hasDocument: true,
    userAgent: 'claude-code/2.1 (cli)',
    opening: ['initialize'],
    // Some versions of Claude Code look only at the root.
    looksAt: ['announced', 'root'],
    registration: {
      client_name: 'Claude Code',
      redirect_uris: [`http://localhost:${freePort}/callback`],
      ...publicClient,
    },
    callback: `http://localhost:${freePort}/callback`,
    scope: 'mcp',
    document: {
      url: 'https://claude.ai/oauth/claude-code-client-metadata',
      callback: `http://localhost:${freePort}/callback`,
    },
  },
  {
    name: 'ChatGPT',
    hasDocument: true,
    userAgent: 'ChatGPT-User/1.0',
    opening: ['initialize'],
    looksAt: ['announced', 'path'],
    registration: {
      client_name: 'ChatGPT',
      redirect_uris: [
        'https://chatgpt.com/connector/oauth/connection-check',
        'https://chatgpt.com/connector_platform_oauth_redirect',
      ],
      ...publicClient,
    },
    callback: 'https://chatgpt.com/connector/oauth/connection-check',
    scope: 'mcp offline_access',
  },
  {
    name: 'Cursor',
    hasDocument: false,
    userAgent: 'Cursor/3.14',
    opening: ['initialize', 'stream'],
    looksAt: ['announced', 'path'],
    registration: {
      client_name: 'Cursor',
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
      ...publicClient,
      application_type: 'web',
    },
    callback: 'cursor://anysphere.cursor-mcp/oauth/callback',
    scope: undefined,
  },
  {
    name: 'VS Code',
    hasDocument: true,
    userAgent: 'Visual Studio Code/1.120',
    opening: ['initialize'],
    looksAt: ['announced', 'path'],
    registration: {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      ...publicClient,
      grant_types: [...codeGrants, 'urn:ietf:params:oauth:grant-type:device_code'],
      application_type: 'native',
    },
    callback: `http://127.0.0.1:${freePort}/`,
    scope: 'mcp',
    document: {
      url: 'https://vscode.dev/oauth/client-metadata.json',
      callback: `http://127.0.0.1:${freePort}/`,
    },
  },
  {
    name: 'mcp-remote',
    hasDocument: false,
    userAgent: 'node',
    opening: ['stream', 'initialize'],
    looksAt: ['path'],
    registration: {
      client_name: 'MCP CLI Proxy',
      client_uri: 'https://github.com/modelcontextprotocol/mcp-cli',
      redirect_uris: ['http://localhost:18696/oauth/callback'],
      ...publicClient,
      software_id: '2e6dc280-f3c3-4e01-99a7-8181dbd1d23d',
      software_version: '0.15.1',
      scope: 'mcp',
      application_type: 'native',
    },
    callback: 'http://localhost:18696/oauth/callback',
    scope: 'mcp offline_access',
    prompt: 'consent',
  },
]
