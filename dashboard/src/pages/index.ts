import type { ComponentType } from 'preact'
import type { Audience } from '../data/session.ts'
import type { IconName } from '../elements/icon.tsx'

/** A page of the dashboard, loaded when it is first shown. */
export type Page = {
  path: string
  title: string
  icon: IconName
  /** Readers for whom the navigation lists the page. */
  for: Audience
  /** True for a page that the navigation does not list, and that other pages link to. */
  isUnlisted?: true
  load: () => Promise<{ Page: ComponentType }>
}

/** All pages, in the order of the navigation. */
export const pages: readonly Page[] = [
  {
    path: '/overview',
    title: 'Overview',
    icon: 'overview',
    for: 'everybody',
    load: () => import('./overview/index.tsx'),
  },
  {
    path: '/keys',
    title: 'API keys',
    icon: 'key',
    for: 'administrators',
    load: () => import('./keys/index.tsx'),
  },
  {
    path: '/requests',
    title: 'Requests',
    icon: 'requests',
    for: 'everybody',
    load: () => import('./requests/index.tsx'),
  },
  {
    path: '/models',
    title: 'Models',
    icon: 'models',
    for: 'everybody',
    load: () => import('./models/index.tsx'),
  },
  {
    path: '/playground',
    title: 'Playground',
    icon: 'playground',
    for: 'everybody',
    load: () => import('./playground/index.tsx'),
  },
  {
    path: '/connect',
    title: 'Connect',
    icon: 'connect',
    for: 'everybody',
    load: () => import('./connect/index.tsx'),
  },
  {
    path: '/applications',
    title: 'Applications',
    icon: 'applications',
    for: 'everybody',
    load: () => import('./applications/index.tsx'),
  },
  {
    path: '/settings',
    title: 'Settings',
    icon: 'settings',
    for: 'administrators',
    load: () => import('./settings/index.tsx'),
  },
  {
    path: '/providers',
    title: 'Providers',
    icon: 'providers',
    for: 'operators',
    load: () => import('./providers/index.tsx'),
  },
  {
    path: '/accounts',
    title: 'Accounts',
    icon: 'accounts',
    for: 'operators',
    load: () => import('./accounts/index.tsx'),
  },
  {
    path: '/you',
    title: 'You',
    icon: 'person',
    for: 'everybody',
    load: () => import('./you/index.tsx'),
  },
  {
    path: '/welcome',
    title: 'First steps',
    icon: 'check',
    for: 'everybody',
    isUnlisted: true,
    load: () => import('./welcome/index.tsx'),
  },
]
