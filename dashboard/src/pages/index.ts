import type { ComponentType } from 'preact'
import type { Audience } from '../data/session.ts'
import type { IconName } from '../elements/icon.tsx'

/** Titles of the groups of the navigation. */
export const groups = { usage: 'Usage', build: 'Build', manage: 'Manage' } as const

/** A page of the dashboard, loaded when it is first shown. */
export type Page = {
  path: string
  title: string
  icon: IconName
  /** Readers for whom the navigation lists the page. */
  for: Audience
  /** Group of the navigation; other pages link to a page without one. */
  group?: keyof typeof groups
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
    load: () => import('./overview/index.tsx'),
  },
  {
    path: '/requests',
    title: 'Requests',
    icon: 'requests',
    group: 'usage',
    for: 'everybody',
    load: () => import('./requests/index.tsx'),
  },
  {
    path: '/pictures',
    title: 'Pictures',
    icon: 'picture',
    group: 'usage',
    for: 'everybody',
    load: () => import('./pictures/index.tsx'),
  },
  {
    path: '/models',
    title: 'Models',
    icon: 'models',
    group: 'build',
    for: 'everybody',
    load: () => import('./models/index.tsx'),
  },
  {
    path: '/playground',
    title: 'Playground',
    icon: 'playground',
    group: 'build',
    for: 'everybody',
    load: () => import('./playground/index.tsx'),
  },
  {
    path: '/keys',
    title: 'API keys',
    icon: 'key',
    group: 'build',
    for: 'administrators',
    load: () => import('./keys/index.tsx'),
  },
  {
    path: '/connect',
    title: 'Connect',
    icon: 'connect',
    group: 'build',
    for: 'everybody',
    load: () => import('./connect/index.tsx'),
  },
  {
    path: '/applications',
    title: 'Applications',
    icon: 'applications',
    group: 'build',
    for: 'everybody',
    load: () => import('./applications/index.tsx'),
  },
  {
    path: '/webhooks',
    title: 'Alerts, webhooks',
    icon: 'webhook',
    group: 'build',
    for: 'administrators',
    load: () => import('./webhooks/index.tsx'),
  },
  {
    path: '/settings',
    title: 'Settings',
    icon: 'settings',
    group: 'manage',
    for: 'administrators',
    load: () => import('./settings/index.tsx'),
  },
  {
    path: '/providers',
    title: 'Providers',
    icon: 'providers',
    group: 'manage',
    for: 'operators',
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
    load: () => import('./accounts/index.tsx'),
  },
  {
    path: '/you',
    title: 'You',
    icon: 'person',
    group: 'manage',
    for: 'everybody',
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
