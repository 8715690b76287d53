import { signal } from '@preact/signals'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { askForAddress } from '../../data/address.ts'
import { useLoad } from '../../data/load.ts'
import { ownNavigation } from '../../data/navigation.ts'
import { addressOf, nameInPlace } from '../../data/place.ts'
import { CopyButton } from '../../elements/copy.tsx'
import { Head } from '../../elements/head.tsx'
import { loadParser, Prose } from '../../elements/markdown.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import { loadContract, searchOperations, type Contract, type Operation } from './contract.ts'
import { Method, OperationPage } from './operation.tsx'
import './reference.css'

/** The contract, kept for the visit. */
const contract = signal<Contract | undefined>(undefined)
const search = signal('')

/** The API reference: an overview, or one operation of the contract that the gateway serves. */
export function Page() {
  const loaded = useLoad('contract', async (signal) => {
    const reading = contract.peek() ?? loadContract(signal)
    const [{ origin }, read] = await Promise.all([askForAddress(signal), reading, loadParser()])
    contract.value = read
    return { contract: read, origin }
  })
  useLayoutEffect(() => {
    ownNavigation.value = Operations
    return () => (ownNavigation.value = undefined)
  }, [])
  return (
    <WhenLoaded loaded={loaded} what="Loading the contract">
      {(data) => <Shown {...data} />}
    </WhenLoaded>
  )
}

type Props = { contract: Contract; origin: string }

function Shown(props: Props) {
  const id = nameInPlace()
  const operation = props.contract.operations.find(({ operationId }) => operationId === id)
  if (operation !== undefined)
    return (
      <OperationPage key={`${id}${location.search}`} operation={operation} origin={props.origin} />
    )
  if (id === undefined) return <Overview {...props} />
  return (
    <>
      <Head title="No such operation" />
      <div class="card">
        <p>
          The API of this gateway has no operation <code>{id.slice(0, 100)}</code>. The link may be
          misspelled, or belong to another version than {props.contract.info.version}.
        </p>
        <a href={addressOf('/reference')}>All operations</a>
      </div>
    </>
  )
}

function Overview({ contract: { info, groups, tags, operations }, origin }: Props) {
  const [start = '', ...sections] = info.description.split(/^## /m)
  return (
    <>
      <Head title="API reference">
        <span class="quiet">Version {info.version}</span>
      </Head>
      <div class="card">
        <Prose text={start} />
        <dl class="facts">
          <dt>Base address</dt>
          <dd class="row">
            <code>{origin}</code> <CopyButton text={origin} what="base address" />
          </dd>
          <dt>Contract</dt>
          <dd>
            <a href="/openapi.json">JSON</a>, <a href="/openapi.yaml">YAML</a>,{' '}
            <a href="/openapi-3.2.json">OpenAPI 3.2</a>, <a href="/mcp-tools.json">MCP tools</a>
          </dd>
        </dl>
        {sections.map((section) => (
          <details key={section}>
            <summary>{section.slice(0, section.indexOf('\n'))}</summary>
            <Prose text={section.slice(section.indexOf('\n'))} />
          </details>
        ))}
      </div>
      {groups
        .flatMap((group) => group.tags)
        .map((tag) => (
          <section key={tag} class="card">
            <h2>{tag}</h2>
            <p class="quiet">{tags.find(({ name }) => name === tag)?.description}</p>
            <List operations={operations.filter((one) => one.tags.includes(tag))} />
          </section>
        ))}
    </>
  )
}

function List({ operations }: { operations: readonly Operation[] }) {
  return (
    <ul class="api-list">
      {operations.map((one) => (
        <li key={one.operationId}>
          <a
            href={addressOf(`/reference/${one.operationId}`)}
            aria-current={one.operationId === nameInPlace() ? 'page' : undefined}
          >
            {one.summary}
          </a>
          <span class="row">
            <Method {...one} />
            <code>{one.path}</code>
          </span>
        </li>
      ))}
    </ul>
  )
}

/** The search, and the operations by tag or those that it finds. */
function Operations() {
  const read = contract.value
  const id = nameInPlace()
  const text = search.value.trim()
  useEffect(() => {
    document.querySelector('.api-nav [aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [id, read])
  return (
    <>
      <input
        type="search"
        aria-label="Search operations, paths and parameters"
        placeholder="Search the API"
        value={search.value}
        onInput={(event) => (search.value = event.currentTarget.value)}
      />
      <nav class="api-nav" aria-label="Operations">
        <a href={addressOf('/reference')} aria-current={id === undefined ? 'page' : undefined}>
          Overview
        </a>
        {read !== undefined && (text === '' ? <ByTag {...read} /> : <Found {...{ read, text }} />)}
      </nav>
    </>
  )
}

function ByTag({ groups, operations }: Contract) {
  const id = nameInPlace()
  return (
    <>
      {groups.map(({ name, tags }) => (
        <div key={name}>
          <p class="nav-group">{name}</p>
          {tags.map((tag) => {
            const tagged = operations.filter((one) => one.tags.includes(tag))
            const isOpen = tagged.some(({ operationId }) => operationId === id)
            return (
              <details key={`${tag} ${isOpen}`} open={isOpen}>
                <summary>{tag}</summary>
                <List operations={tagged} />
              </details>
            )
          })}
        </div>
      ))}
    </>
  )
}

function Found({ read, text }: { read: Contract; text: string }) {
  const found = searchOperations(read, text)
  return (
    <>
      <p class="nav-group" role="status">
        {found.length} found
      </p>
      <List operations={found} />
    </>
  )
}
