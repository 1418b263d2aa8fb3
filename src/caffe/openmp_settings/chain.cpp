// A link of the chain that leads to openmp_settings.cpp. THIS is this library's function and NEXT
// the next library's, which it needs by that.
extern "C" {
void NEXT(void);
void THIS(void);
void THIS(void) { NEXT(); }
}
