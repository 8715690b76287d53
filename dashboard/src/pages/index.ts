import type { ComponentType } from 'preact'
import type { operations } from '../../../generated/types.ts'
import type { Audience } from '../data/session.ts'
import type { IconName } from '../elements/icon.tsx'

/** Titles of the groups of the navigation. */
export const groups = { usage: 'Usage', build: 'Build', manage: 'Manage' } as const

type OperationId = keyof operations

/** A page of the dashboard, loaded when it is first shown. */
export type Page = {
  path: string
  title: string
  icon: IconName
  /** Readers for whom the navigation lists the page. */
  for: Audience
  /** Group of the navigation; other pages link to a page without one. */
  group?: keyof typeof groups
  /** Whether the page opens without a session, and has a navigation of its own. */
  isPublic?: boolean
  /** The operations of the page by its tab or the path of its parts: '' is the list, and '*' any item. */
  operations?: Readonly<Record<string, OperationId>>
  load: () => Promise<{ Page: ComponentType }>
}

/** All pages, in the order of the navigation. */
export const pages: readonly Page[] = [
  {
    path: '/overview',
    title: 'Overview',
    icon: 'overview',
    group: 'usage',
    for: 'everybody',
    operations: { '': 'reportUsage' },
    load: () => import('./overview/index.tsx'),
  },
  {
    path: '/requests',
    title: 'Requests',
    icon: 'requests',
    group: 'usage',
    for: 'everybody',
    operations: {
      '': 'listRequests',
      '*': 'retrieveRequest',
      errors: 'listRequestErrors',
    },
    load: () => import('./requests/index.tsx'),
  },
  {
    path: '/pictures',
    title: 'Pictures',
    icon: 'picture',
    group: 'usage',
    for: 'everybody',
    operations: { '': 'listImageJobs' },
    load: () => import('./pictures/index.tsx'),
  },
  {
    path: '/models',
    title: 'Models',
    icon: 'models',
    group: 'build',
    for: 'everybody',
    operations: { '': 'listModels', '*': 'retrieveModel' },
    load: () => import('./models/index.tsx'),
  },
  {
    path: '/playground',
    title: 'Playground',
    icon: 'playground',
    group: 'build',
    for: 'everybody',
    operations: { '': 'createImage', chat: 'createChatCompletion' },
    load: () => import('./playground/index.tsx'),
  },
  {
    path: '/keys',
    title: 'API keys',
    icon: 'key',
    group: 'build',
    for: 'key makers',
    operations: { '': 'listKeys', '*': 'retrieveKey', new: 'createKey' },
    load: () => import('./keys/index.tsx'),
  },
  {
    path: '/connect',
    title: 'Connect',
    icon: 'connect',
    group: 'build',
    for: 'everybody',
    operations: { '': 'postMcp' },
    load: () => import('./connect/index.tsx'),
  },
  {
    path: '/applications',
    title: 'Applications',
    icon: 'applications',
    group: 'build',
    for: 'everybody',
    operations: { '': 'listConnections' },
    load: () => import('./applications/index.tsx'),
  },
  {
    path: '/webhooks',
    title: 'Alerts, webhooks',
    icon: 'webhook',
    group: 'build',
    for: 'administrators',
    operations: { '': 'listWebhooks', '*': 'retrieveWebhook' },
    load: () => import('./webhooks/index.tsx'),
  },
  {
    path: '/reference',
    title: 'API reference',
    icon: 'reference',
    group: 'build',
    for: 'everybody',
    isPublic: true,
    load: () => import('./reference/index.tsx'),
  },
  {
    path: '/settings',
    title: 'Settings',
    icon: 'settings',
    group: 'manage',
    for: 'administrators',
    operations: {
      '': 'updateAccount',
      members: 'listMembers',
      audit: 'listAuditEvents',
    },
    load: () => import('./settings/index.tsx'),
  },
  {
    path: '/providers',
    title: 'Providers',
    icon: 'providers',
    group: 'manage',
    for: 'operators',
    operations: { '': 'listProviders' },
    load: () => import('./providers/index.tsx'),
  },
  {
    path: '/reconcile',
    title: 'Reconcile invoices',
    icon: 'reconcile',
    for: 'operators',
    load: () => import('./reconcile/index.tsx'),
  },
  {
    path: '/accounts',
    title: 'Accounts',
    icon: 'accounts',
    group: 'manage',
    for: 'operators',
    operations: { '': 'listAccounts', '*': 'retrieveAccount', new: 'createAccount' },
    load: () => import('./accounts/index.tsx'),
  },
  {
    path: '/you',
    title: 'You',
    icon: 'person',
    group: 'manage',
    for: 'everybody',
    operations: { '': 'retrieveMe' },
    load: () => import('./you/index.tsx'),
  },
  {
    path: '/welcome',
    title: 'First steps',
    icon: 'check',
    for: 'everybody',
    load: () => import('./welcome/index.tsx'),
  },
]
