import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'

/** What the shown page lists in place of the navigation of the dashboard. */
export const ownNavigation = signal<ComponentType | undefined>(undefined)
