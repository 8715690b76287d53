import { addressOf, place } from '../../data/place.ts'
import { useTitle } from '../../data/title.ts'
import { AccountSettings } from './account.tsx'
import { AuditLog } from './audit.tsx'
import { Members } from './members.tsx'
import './settings.css'

const parts = [
  { path: '/settings', title: 'Account', Part: AccountSettings },
  { path: '/settings/members', title: 'Members', Part: Members },
  { path: '/settings/audit', title: 'Audit log', Part: AuditLog },
] as const

/** Settings of the account: name, limits, members and the audit log. */
export function Page() {
  const { path } = place.value
  const shown = parts.find((part) => part.path === path) ?? parts[0]
  useTitle(shown.title)
  return (
    <>
      <div class="head">
        <h1>Settings</h1>
      </div>
      <nav class="tabs" aria-label="Settings">
        {parts.map((part) => (
          <a
            key={part.path}
            href={addressOf(part.path)}
            aria-current={part === shown ? 'page' : undefined}
          >
            {part.title}
          </a>
        ))}
      </nav>
      <shown.Part />
    </>
  )
}
