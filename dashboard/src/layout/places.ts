import { leave } from '../data/session.ts'
import { chooseTheme } from '../data/theme.ts'

/** A part of a page, or an action; `page` decides who may open it. */
export type Place = { page: string; title: string; path: string; words?: string }

/** Other words for what the pages show. */
export const pageWords: Readonly<Record<string, string>> = {
  '/overview': 'usage cost spending budget forecast latency chart',
  '/requests': 'calls log history errors',
  '/pictures': 'images jobs gallery',
  '/models': 'catalog prices',
  '/keys': 'tokens secrets',
  '/connect': 'mcp claude cursor code clients set up',
  '/applications': 'oauth connections service clients',
  '/webhooks': 'slack mail notifications receivers deliveries',
  '/settings': 'account',
  '/providers': 'vendors routes aliases endpoints',
  '/reconcile': 'costs bill drift export vendors',
  '/accounts': 'customers teams',
  '/you': 'profile e-mail password sessions',
}

/** Parts of pages. */
export const parts: readonly Place[] = [
  { page: '/overview', title: 'By model', path: '/overview?split=model' },
  { page: '/overview', title: 'By key', path: '/overview?split=key' },
  { page: '/overview', title: 'By provider', path: '/overview?split=provider' },
  { page: '/overview', title: 'By person', path: '/overview?split=member' },
  { page: '/overview', title: 'By tag', path: '/overview?split=tag' },
  { page: '/requests', title: 'Errors by cause', path: '/requests/errors', words: 'failed' },
  { page: '/playground', title: 'Pictures', path: '/playground?tab=pictures' },
  { page: '/playground', title: 'Chat', path: '/playground?tab=chat' },
  {
    page: '/settings',
    title: 'Account',
    path: '/settings',
    words: 'name budget limits cache prompts',
  },
  { page: '/settings', title: 'Members', path: '/settings/members', words: 'people team roles' },
  { page: '/settings', title: 'Webhooks and alerts', path: '/webhooks' },
  {
    page: '/providers',
    title: 'Servers, routes, aliases',
    path: '/providers/gateway.yaml',
    words: 'own endpoints yaml fallback settings',
  },
  { page: '/settings', title: 'Audit log', path: '/settings/audit', words: 'history events' },
]

/** Pages on which an action begins. */
export const acts: readonly Place[] = [
  { page: '/keys', title: 'Create a key', path: '/keys/new', words: 'new add api' },
  {
    page: '/settings',
    title: 'Invite a person',
    path: '/settings/members',
    words: 'add new member invitation',
  },
  {
    page: '/webhooks',
    title: 'Add a webhook or an alert',
    path: '/webhooks',
    words: 'create new slack mail',
  },
  {
    page: '/playground',
    title: 'Create a picture',
    path: '/playground?tab=pictures',
    words: 'make draw edit image new',
  },
  { page: '/playground', title: 'Chat with a model', path: '/playground?tab=chat', words: 'ask' },
  {
    page: '/playground',
    title: 'Try the sandbox',
    path: '/playground?mode=test',
    words: 'free test',
  },
  {
    page: '/providers',
    title: "Add a provider's key",
    path: '/providers',
    words: 'vendor configure new',
  },
  {
    page: '/accounts',
    title: 'Create an account',
    path: '/accounts/new',
    words: 'add new customer',
  },
  { page: '/you', title: 'Change your password', path: '/you', words: 'new' },
]

/** Actions that are done at once. */
export const deeds: readonly { title: string; words?: string; run: () => void }[] = [
  {
    title: 'Open the API reference',
    words: 'docs openapi',
    run: () => location.assign('/docs'),
  },
  { title: 'Use the dark theme', words: 'night mode', run: () => chooseTheme('dark') },
  { title: 'Use the light theme', words: 'day mode', run: () => chooseTheme('light') },
  { title: 'Sign out', words: 'leave log out', run: () => void leave() },
]
