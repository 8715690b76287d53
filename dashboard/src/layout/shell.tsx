import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { useSignal } from '@preact/signals'
import { Logo } from '../elements/logo.tsx'
import { Icon } from '../elements/icon.tsx'
import { addressOf, base, nameInPlace, place } from '../data/place.ts'
import { ownNavigation } from '../data/navigation.ts'
import { chooseAccount, isFor, leave, membership, signedIn } from '../data/session.ts'
import { useAct } from '../data/load.ts'
import { chooseTheme, theme, themes } from '../data/theme.ts'
import { Failure } from '../elements/failure.tsx'
import { groups, pages, type Page } from '../pages/index.ts'
import { Jump, JumpButton, usePastedRequest } from './jump.tsx'
import { pageAt } from './shown.tsx'

/** The frame of all pages: navigation, account and signed-in person. */
export function Shell({ children }: { children: ComponentChildren }) {
  const isOpen = useSignal(false)
  const main = useRef<HTMLElement>(null)
  usePastedRequest()
  useFocusOnNext(main)
  useEffect(() => void (isOpen.value = false), [place.value.path])
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href={base}>
          <Logo />
        </a>
        <button
          type="button"
          class="plain menu"
          aria-expanded={isOpen.value}
          aria-controls="navigation"
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          <Icon name="menu" />
          Menu
        </button>
      </header>
      <aside
        id="navigation"
        class={isOpen.value ? 'side open' : 'side'}
        aria-label="Account and pages"
      >
        <a class="brand" href={base}>
          <Logo />
        </a>
        <Navigation onGone={() => (isOpen.value = false)} />
        <SignedInAs />
      </aside>
      <main id="content" tabIndex={-1} ref={main}>
        {children}
      </main>
      {signedIn.value !== null && <Jump onGone={() => (isOpen.value = false)} />}
    </div>
  )
}

/** The pages of the dashboard, or what a public page lists itself. */
function Navigation({ onGone }: { onGone: () => void }) {
  const Own = ownNavigation.value
  if (pageAt(place.value.path)?.isPublic) {
    const { path, title } = pageWith(nameInPlace())
    return (
      <>
        <a class="button plain small" href={addressOf(path)}>
          {signedIn.value === null ? 'Sign in' : `Dashboard: ${title}`}
        </a>
        {Own && <Own />}
      </>
    )
  }
  return (
    <>
      <AccountChoice />
      <JumpButton />
      <nav aria-label="Pages" onClick={onGone}>
        {groupNames.map((group) => (
          <PageLinks key={group} group={group} />
        ))}
      </nav>
    </>
  )
}

/** The page that uses an operation, else the first page. */
function pageWith(operation: string | undefined): Page {
  const uses = ({ operations = {} }: Page) =>
    Object.values(operations).some((one) => one === operation)
  return pages.find(uses) ?? pages[0]!
}

const groupNames = Object.keys(groups) as (keyof typeof groups)[]

function PageLinks({ group }: { group: keyof typeof groups }) {
  const id = useId()
  const listed = pages.filter((page) => page.group === group && isFor(page.for))
  if (listed.length === 0) return null
  return (
    <>
      <p class="nav-group" id={id}>
        {groups[group]}
      </p>
      <ul aria-labelledby={id}>
        {listed.map((page) => (
          <li key={page.path}>
            <a
              href={addressOf(page.path)}
              aria-current={pageAt(place.value.path) === page ? 'page' : undefined}
            >
              <Icon name={page.icon} />
              {page.title}
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}

/** After following a link, moves the focus to the new page, as loading a document does. */
function useFocusOnNext(main: RefObject<HTMLElement | null>): void {
  const { path } = place.value
  const shown = useRef(path)
  useEffect(() => {
    if (shown.current === path) return
    shown.current = path
    const { current: element } = main
    if (element?.contains(document.activeElement) === false) element.focus({ preventScroll: true })
  }, [path])
}

function AccountChoice() {
  const memberships = signedIn.value?.person.memberships ?? []
  const chosen = membership.value
  if (chosen === undefined) return <p class="account">&nbsp;</p>
  if (memberships.length === 1) return <p class="account">{chosen.account_name}</p>
  return (
    <label class="account">
      <span class="hidden">Account</span>
      <select onChange={(event) => chooseAccount(event.currentTarget.value)}>
        {memberships.map(({ account_id: id, account_name: name }) => (
          <option key={id} value={id} selected={id === chosen.account_id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function SignedInAs() {
  const signingOut = useAct(leave)
  const person = signedIn.value?.person
  if (person === undefined || person === null) return null
  return (
    <div class="who">
      <p>
        <strong>{person.name}</strong>
        <br />
        <span class="quiet">{person.email}</span>
      </p>
      <Failure error={signingOut.error} />
      <div class="row">
        <button
          type="button"
          class="plain small"
          disabled={signingOut.isBusy}
          onClick={() => void signingOut.run()}
        >
          Sign out
        </button>
        <ThemeChoice />
      </div>
    </div>
  )
}

function ThemeChoice() {
  return (
    <div class="segments themes" role="group" aria-label="Theme">
      {themes.map((one) => (
        <button
          key={one}
          type="button"
          class="plain small"
          title={themeTitles[one]}
          aria-label={themeTitles[one]}
          aria-pressed={theme.value === one}
          onClick={() => chooseTheme(one)}
        >
          <Icon name={one} />
        </button>
      ))}
    </div>
  )
}

const themeTitles = { system: 'Theme of the system', light: 'Light theme', dark: 'Dark theme' }
