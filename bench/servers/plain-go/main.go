// Contender: a plain service on net/http, with database/sql on SQLite or pgx on PostgreSQL, and statements that are
// prepared once. It lists, searches, counts, finds, creates and changes animals, and checks keys, parameters and bodies, but
// knows neither `before` nor `Idempotency-Key`, nor searches among the animals of a status, and changes only the status.
package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

type newAnimal struct {
	Name       string  `json:"name"`
	CategoryID *int64  `json:"categoryId"`
	Status     *string `json:"status,omitempty"`
}

type animal struct {
	ID         int64   `json:"id"`
	Name       string  `json:"name"`
	CategoryID int64   `json:"categoryId"`
	Status     *string `json:"status,omitempty"`
}

type change struct {
	Status *string `json:"status"`
}

type page struct {
	limit  int
	after  int64
	status string
	// nil if they were not given.
	name       *string
	categoryID *int64
}

// The animals of a page, and whether others precede and follow them.
type result struct {
	animals              []animal
	hasPrevious, hasNext bool
}

// What a search found, as JSON, and where other pages start. nil if there is none.
type searchResult struct {
	json           []byte
	previous, next *int64
}

type inventory struct {
	Available int64 `json:"available"`
	Pending   int64 `json:"pending"`
	Sold      int64 `json:"sold"`
	None      int64 `json:"none"`
}

type store interface {
	list(context.Context, page) (result, error)
	search(context.Context, page) (searchResult, error)
	inventory(context.Context) (inventory, error)
	// find returns nil if there is no animal with this id.
	find(ctx context.Context, id int64) (*animal, error)
	create(context.Context, newAnimal) (int64, error)
	// setStatus returns nil if there is no animal with this id.
	setStatus(ctx context.Context, id int64, status string) (*animal, error)
}

const maxBodyBytes = 64 << 10

func main() {
	animals, err := openStore()
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pets", func(w http.ResponseWriter, r *http.Request) { listPets(animals, w, r) })
	mux.HandleFunc("POST /v1/pets", func(w http.ResponseWriter, r *http.Request) { createPet(animals, w, r) })
	mux.HandleFunc("GET /v1/pets/{petId}", func(w http.ResponseWriter, r *http.Request) { getPet(animals, w, r) })
	mux.HandleFunc("PATCH /v1/pets/{petId}", func(w http.ResponseWriter, r *http.Request) { changePet(animals, w, r) })
	mux.HandleFunc("GET /v1/store/inventory", func(w http.ResponseWriter, r *http.Request) { getInventory(animals, w, r) })
	handler := authenticated(mux)
	if os.Getenv("LOG_LEVEL") == "info" {
		handler = logged(handler)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), handler))
}

func openStore() (store, error) {
	if databaseURL := os.Getenv("DATABASE_URL"); strings.HasPrefix(databaseURL, "postgres:") {
		return openPostgres(databaseURL)
	}
	return openSQLite(os.Getenv("DATABASE"))
}

func logged(next http.Handler) http.Handler {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		recorder := &statusRecorder{ResponseWriter: w}
		next.ServeHTTP(recorder, r)
		logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
			slog.String("method", r.Method),
			slog.String("path", r.URL.Path),
			slog.Int("status", recorder.status),
			slog.Float64("durationMs", float64(time.Since(started).Microseconds())/1000))
	})
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func authenticated(next http.Handler) http.Handler {
	expected := []byte("Bearer " + os.Getenv("ANIMAL_STORE_API_KEY"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), expected) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="animal-store"`)
			sendError(w, http.StatusUnauthorized, "unauthorized", "A valid API key is required.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func listPets(animals store, w http.ResponseWriter, r *http.Request) {
	requested, err := parsePage(r.URL.Query())
	if err != nil {
		sendError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	if requested.name != nil || requested.categoryID != nil {
		searchPets(animals, requested, w, r)
		return
	}
	found, err := animals.list(r.Context(), requested)
	if err != nil {
		sendUnavailable(w, err)
		return
	}
	rest := fmt.Sprintf("limit=%d", requested.limit)
	if requested.status != "" {
		rest += "&status=" + requested.status
	}
	var previous, next *int64
	if found.hasPrevious {
		previous = &found.animals[0].ID
	}
	if found.hasNext {
		next = &found.animals[len(found.animals)-1].ID
	}
	setLinks(w, rest, previous, next)
	sendJSON(w, http.StatusOK, found.animals)
}

func searchPets(animals store, requested page, w http.ResponseWriter, r *http.Request) {
	found, err := animals.search(r.Context(), requested)
	if err != nil {
		sendUnavailable(w, err)
		return
	}
	rest := fmt.Sprintf("limit=%d", requested.limit)
	if requested.name != nil {
		rest += "&name=" + url.QueryEscape(*requested.name)
	}
	if requested.categoryID != nil {
		rest += fmt.Sprintf("&categoryId=%d", *requested.categoryID)
	}
	setLinks(w, rest, found.previous, found.next)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(found.json)
}

func setLinks(w http.ResponseWriter, rest string, previous, next *int64) {
	var links []string
	if previous != nil {
		links = append(links, fmt.Sprintf(`</v1/pets?%s&before=%d>; rel="prev"`, rest, *previous))
	}
	if next != nil {
		links = append(links, fmt.Sprintf(`</v1/pets?%s&after=%d>; rel="next"`, rest, *next))
	}
	if len(links) > 0 {
		w.Header().Set("Link", strings.Join(links, ", "))
	}
}

func parsePage(query url.Values) (page, error) {
	requested := page{limit: 20}
	var err error
	for name, values := range query {
		if len(values) != 1 {
			return requested, fmt.Errorf("%s must be given once", name)
		}
		value := values[0]
		switch name {
		case "limit":
			requested.limit, err = strconv.Atoi(value)
			if err != nil || requested.limit < 1 || requested.limit > 100 {
				return requested, errors.New("limit must be an integer from 1 to 100")
			}
		case "after":
			requested.after, err = strconv.ParseInt(value, 10, 64)
			if err != nil {
				return requested, errors.New("after must be an id")
			}
		case "status":
			if !isStatus(value) {
				return requested, errors.New("status must be available, pending or sold")
			}
			requested.status = value
		case "name":
			if length := utf8.RuneCountInString(value); length < 1 || length > 100 {
				return requested, errors.New("name must have 1 to 100 characters")
			}
			requested.name = &value
		case "categoryId":
			categoryID, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return requested, errors.New("categoryId must be an integer")
			}
			requested.categoryID = &categoryID
		default:
			return requested, fmt.Errorf("unknown parameter %s", name)
		}
	}
	if requested.status != "" && (requested.name != nil || requested.categoryID != nil) {
		return requested, errors.New("status goes with neither name nor categoryId")
	}
	return requested, nil
}

func createPet(animals store, w http.ResponseWriter, r *http.Request) {
	var given newAnimal
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes)).Decode(&given); err != nil {
		sendError(w, http.StatusBadRequest, "invalid_request", "The body must be a JSON object.")
		return
	}
	if length := utf8.RuneCountInString(given.Name); length < 1 || length > 1000 {
		sendError(w, http.StatusBadRequest, "invalid_request", "name must have 1 to 1000 characters")
		return
	}
	if given.CategoryID == nil {
		sendError(w, http.StatusBadRequest, "invalid_request", "categoryId is required")
		return
	}
	if given.Status != nil && !isStatus(*given.Status) {
		sendError(w, http.StatusBadRequest, "invalid_request", "status must be available, pending or sold")
		return
	}
	id, err := animals.create(r.Context(), given)
	if err != nil {
		sendUnavailable(w, err)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/v1/pets/%d", id))
	sendJSON(w, http.StatusCreated, animal{id, given.Name, *given.CategoryID, given.Status})
}

func getPet(animals store, w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("petId"), 10, 64)
	if err != nil {
		sendError(w, http.StatusNotFound, "not_found", "The animal does not exist.")
		return
	}
	found, err := animals.find(r.Context(), id)
	if err != nil {
		sendUnavailable(w, err)
		return
	}
	if found == nil {
		sendError(w, http.StatusNotFound, "not_found", "The animal does not exist.")
		return
	}
	w.Header().Set("Deprecation", "@1794700800")
	w.Header().Set("Sunset", "Thu, 05 Dec 2030 00:00:00 GMT")
	sendJSON(w, http.StatusOK, found)
}

func changePet(animals store, w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("petId"), 10, 64)
	if err != nil {
		sendError(w, http.StatusNotFound, "not_found", "The animal does not exist.")
		return
	}
	var given change
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes)).Decode(&given); err != nil {
		sendError(w, http.StatusBadRequest, "invalid_request", "The body must be a JSON object.")
		return
	}
	if given.Status == nil || !isStatus(*given.Status) {
		sendError(w, http.StatusBadRequest, "invalid_request", "status must be available, pending or sold")
		return
	}
	changed, err := animals.setStatus(r.Context(), id, *given.Status)
	if err != nil {
		sendUnavailable(w, err)
		return
	}
	if changed == nil {
		sendError(w, http.StatusNotFound, "not_found", "The animal does not exist.")
		return
	}
	sendJSON(w, http.StatusOK, changed)
}

func getInventory(animals store, w http.ResponseWriter, r *http.Request) {
	counted, err := animals.inventory(r.Context())
	if err != nil {
		sendUnavailable(w, err)
		return
	}
	sendJSON(w, http.StatusOK, counted)
}

// folded returns the searched text as the statements take it, or nil. Lower case suffices for ASCII.
func (p page) folded() *string {
	if p.name == nil {
		return nil
	}
	text := strings.ToLower(*p.name)
	return &text
}

func isStatus(value string) bool {
	return value == "available" || value == "pending" || value == "sold"
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func sendError(w http.ResponseWriter, status int, code, message string) {
	sendJSON(w, status, map[string]any{"code": code, "message": message, "status": status})
}

func sendUnavailable(w http.ResponseWriter, err error) {
	log.Print(err)
	sendError(w, http.StatusServiceUnavailable, "unavailable", "The database is not available.")
}
